package model

import (
	"math"

	"hostlab/internal/model/des"
)

// fade is what is left of the distance of a running CPU's utilisation from 1 after
// dt. The clock of tracked utilisation runs slow at low frequency; what it lags
// behind is made up when the CPU idles (Linux 6.12, kernel/sched/pelt.h).
func (g *governor) fade(dt des.Time, scale float64) float64 {
	return decay(float64(dt) * scale / g.halfLife)
}

// estimated is what counts of a process that sleeps after it reached util: a rise at
// once, a fall by a quarter (util_est).
func estimated(est, util float64) float64 {
	if util >= est {
		return util
	}
	return est + (util-est)/4
}

// tracked is the state that schedutil wants for a CPU's utilisation, est of the
// process that runs there, and its iowait boost.
func (g *governor) tracked(pstates []float64, util, est, boost float64) int {
	if g.utilEst {
		util = max(util, est)
	}
	return g.atOrAbove(pstates, g.margin*pstates[len(pstates)-1]*max(util, boost))
}

// decay is 2^-x. PELT's arithmetic has 32 steps per half-life; 1,024 with a line
// between them err by less than 1e-7.
func decay(x float64) float64 {
	if x >= 60 {
		return 0
	}
	n := int(x * decaySteps)
	whole := n / decaySteps
	i := n - whole*decaySteps
	f := x*decaySteps - float64(n)
	return (decays[i] + (decays[i+1]-decays[i])*f) / float64(uint64(1)<<whole)
}

const decaySteps = 1024

var decays = func() (t [decaySteps + 1]float64) {
	for i := range t {
		t[i] = math.Exp2(-float64(i) / decaySteps)
	}
	return t
}()
