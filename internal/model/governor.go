package model

import (
	"fmt"
	"math"
)

// governor is a policy made ready for one machine.
type governor struct {
	rule       rule
	hz         float64 // ruleHertz
	floor, top int     // P-states
	boost      bool    // the last P-state includes turbo

	period           Time    // check interval, 0 without
	inc, dec         float64 // thresholds
	incTime, decTime int32
	incPol, decPol   int
	ofMaximum        bool    // utilisation relative to the highest frequency
	step             float64 // conservative, share
	margin           float64
	rateLimit        Time
	halfLife         float64 // ns
	utilEst, ioBoost bool
}

// compileGovernor checks that the policy fits the machine.
func compileGovernor(p Policy, m Machine) (governor, error) {
	last := len(m.PStates) - 1
	g := governor{rule: p.rule, top: last, boost: true, margin: p.value(pMargin)}
	peak := m.PStates[last]
	if len(m.Turbo) > 0 {
		peak = m.Turbo[0].Hz
	}
	switch p.rule {
	case ruleNone:
		return g, fmt.Errorf("it is empty; get one from ParsePolicy")
	case ruleHertz:
		g.hz = p.value(pHertz) * m.Nominal
		if g.hz < m.PStates[0]*0.999 || g.hz > peak*1.001 {
			return g, fmt.Errorf("%.4g %% of nominal is %s; this machine runs at %.4g to %.4g %% (%s to %s)",
				p.value(pHertz)*100,
				hertz(g.hz), m.PStates[0]/m.Nominal*100, peak/m.Nominal*100, hertz(m.PStates[0]), hertz(peak))
		}
		return g, nil
	}
	if p.index(pThrottleMax) >= 0 {
		g.boost = p.value(pBoostMode) > 0
		g.limit(m, p.value(pThrottleMin)*m.PStates[last], p.value(pThrottleMax)*m.PStates[last])
	} else {
		high := p.value(pMaxFreq)
		if high == 0 {
			high = peak
		}
		g.boost = high > m.PStates[last] || len(m.Turbo) == 0
		g.limit(m, p.value(pMinFreq), high)
	}
	if g.floor > g.top {
		return g, fmt.Errorf("its lowest performance is above its highest (%s and %s)", hertz(m.PStates[g.floor]),
			hertz(m.PStates[g.top]))
	}
	ns := func(name string) Time { return Nanoseconds(p.value(name)) }
	switch p.rule {
	case ruleFloor:
		g.top = g.floor
	case ruleWindows:
		g.period, g.inc, g.dec = ns(pCheck), p.value(pIncThreshold), p.value(pDecThreshold)
		g.incTime, g.decTime = int32(p.value(pIncTime)), int32(p.value(pDecTime))
		g.incPol, g.decPol = int(p.value(pIncPolicy)), int(p.value(pDecPolicy))
		g.ofMaximum = p.value(pReference) == 1
		if g.dec >= g.inc {
			return g, fmt.Errorf("PERFDECTHRESHOLD is %g; it must be below PERFINCTHRESHOLD, %g", g.dec, g.inc)
		}
	case ruleOndemand, ruleConservative:
		g.period, g.inc, g.dec, g.step = ns(pSampling), p.value(pUp), p.value(pDown), p.value(pStep)
		if p.rule == ruleConservative && g.dec >= g.inc {
			return g, fmt.Errorf("down_threshold is %g; it must be below up_threshold, %g", g.dec, g.inc)
		}
	case ruleIntelPstate:
		g.period = ns(pSampling)
	case ruleSchedutil:
		g.period, g.rateLimit, g.halfLife = ns(pTick), ns(pRateLimit), p.value(pHalfLife)*1e9
		g.utilEst, g.ioBoost = p.value(pUtilEst) == 1, p.value(pIOWait) == 1
	}
	return g, nil
}

// limit sets floor to the lowest state at or above low and top to the highest at
// or below high, with a thousandth for frequencies rounded in tables.
func (g *governor) limit(m Machine, low, high float64) {
	last := len(m.PStates) - 1
	g.floor = last
	for i := last; i >= 0 && m.PStates[i] >= low*0.999; i-- {
		g.floor = i
	}
	g.top = 0
	for i, f := range m.PStates {
		if f <= high*1.001 {
			g.top = i
		}
	}
}

// atOrAbove is the lowest state between floor and top whose frequency is at least
// hz, else top.
func (g *governor) atOrAbove(pstates []float64, hz float64) int {
	for i := g.floor; i < g.top; i++ {
		if pstates[i] >= hz*(1-1e-9) {
			return i
		}
	}
	return g.top
}

// nearest is the state between floor and top closest to hz.
func (g *governor) nearest(pstates []float64, hz float64) int {
	best := g.floor
	for i := g.floor + 1; i <= g.top; i++ {
		if pstates[i]-hz < hz-pstates[best] {
			best = i
		}
	}
	return best
}

// sampled is what a rule with a check interval remembers of one CPU.
type sampled struct {
	above, below int32   // intervals in a row
	target       float64 // Hz: conservative's wish between states
}

// check decides the P-state at the end of an interval. utilisation is the busy
// share of the interval (relative to the maximum frequency: times frequency over
// that of the highest state); average is the mean request over the interval, the
// state that is current.
func (g *governor) check(s *sampled, pstates []float64, utilisation float64, current int) int {
	switch g.rule {
	case ruleWindows:
		return g.checkWindows(s, pstates, utilisation, current)
	case ruleOndemand:
		// cpufreq_ondemand.c, od_update: min + load*(max-min)/100, the closest state.
		if utilisation > g.inc {
			return g.top
		}
		low, high := pstates[g.floor], pstates[g.top]
		return g.nearest(pstates, low+utilisation*(high-low))
	case ruleConservative:
		// cpufreq_conservative.c, cs_dbs_update: the wish moves in steps between the
		// limits, and the state is the highest at or below it going up, the lowest at or
		// above it going down.
		step := g.step * pstates[g.top]
		if s.target == 0 {
			s.target = pstates[current]
		}
		switch {
		case utilisation > g.inc:
			s.target = min(s.target+step, pstates[g.top])
			for i := g.top; i > current; i-- {
				if pstates[i] <= s.target*(1+1e-9) {
					return i
				}
			}
		case utilisation < g.dec:
			s.target = max(s.target-step, pstates[g.floor])
			return min(current, g.atOrAbove(pstates, s.target))
		}
		return current
	case ruleIntelPstate:
		// intel_pstate.c, get_target_pstate: a fall goes half of the way.
		target := g.margin * pstates[g.top] * utilisation
		if now := pstates[current]; now > target {
			target += (now - target) / 2
		}
		return g.nearest(pstates, target)
	}
	return current
}

// utilisation of a check interval in which the CPU was busy for so long, at so many
// cycles of the highest state.
func (g *governor) utilisation(busy Time, cycles float64) float64 {
	if g.ofMaximum {
		return min(1, cycles/float64(g.period))
	}
	return min(1, float64(busy)/float64(g.period))
}

func (g *governor) checkWindows(s *sampled, pstates []float64, utilisation float64, current int) int {
	up, down := utilisation >= g.inc && current < g.top, utilisation <= g.dec && current > g.floor
	if s.above++; !up {
		s.above = 0
	}
	if s.below++; !down {
		s.below = 0
	}
	// Ideal, up: where this much work would keep it just below the increase threshold. Down: the
	// lowest state in which it would stay below that, so that it does not rise again at once.
	ideal := g.atOrAbove(pstates, g.work(pstates, utilisation, current)/g.inc)
	switch {
	case up && s.above >= g.incTime:
		s.above = 0
		return [...]int{stepIdeal: max(current+1, ideal), stepSingle: current + 1, stepRocket: g.top}[g.incPol]
	case down && s.below >= g.decTime:
		s.below = 0
		return [...]int{stepIdeal: min(current-1, ideal), stepSingle: current - 1, stepRocket: g.floor}[g.decPol]
	}
	return current
}

// work is the frequency that would have been busy all the time.
func (g *governor) work(pstates []float64, utilisation float64, current int) float64 {
	if g.ofMaximum {
		return utilisation * pstates[g.top]
	}
	return utilisation * pstates[current]
}

// fade is what is left of the distance of a running CPU's utilisation from 1 after
// dt. The clock of tracked utilisation runs slow at low frequency; what it lags
// behind is made up when the CPU idles (Linux 6.12, kernel/sched/pelt.h).
func (g *governor) fade(dt Time, scale float64) float64 {
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

// A check that can change nothing is not simulated: that of a CPU which idled
// through its interval at the lowest state, or was busy through it at the highest.
// Such a CPU is parked, and its intervals resume in phase when it starts or stops.
// The result is the same as with all checks.

// unpark resumes a CPU's intervals; the one now running began with the CPU in the
// state that it had since it was parked.
func (s *sim) unpark(i int32, wasBusy bool) {
	k := &s.cpus[i]
	k.parked = false
	into := (s.now - k.phase) % s.g.period
	if into < 0 {
		into += s.g.period
	}
	k.start = s.now - into
	k.startBusy, k.startCycles = k.busy, k.cycles
	if wasBusy {
		k.startBusy -= into
		k.startCycles -= float64(into) * min(1, s.hw.scale[k.point])
	}
	s.q.Set(s.checkSlot(i), evCheck, k.start+s.g.period)
}

func (s *sim) governStart(i int32) {
	if s.g.rule == ruleSchedutil {
		s.wakeBoost(i)
		s.consider(i)
		return
	}
	if s.g.period > 0 && s.cpus[i].parked {
		s.unpark(i, false)
	}
}

func (s *sim) governStop(i int32) {
	if s.g.rule == ruleSchedutil {
		s.settle(i)
		s.consider(i)
		s.q.Cancel(s.checkSlot(i))
		return
	}
	if s.g.period > 0 && s.cpus[i].parked {
		s.unpark(i, true)
	}
}

func (s *sim) checkCPU(i int32) {
	s.account(i)
	if s.g.rule == ruleSchedutil {
		s.consider(i)
		return
	}
	k := &s.cpus[i]
	busy := k.busy - k.startBusy
	utilisation := s.g.utilisation(busy, k.cycles-k.startCycles)
	request := s.g.check(&k.past, s.c.Machine.PStates, utilisation, int(k.request))
	s.ask(i, int32(request))
	at := s.c.Machine.PStates[request]
	settled := s.g.rule != ruleConservative || k.past.target == at
	idle := k.proc < 0 && busy == 0 && request == s.g.floor && settled
	full := k.proc >= 0 && busy == s.g.period && request == s.g.top && settled
	if (idle || full) && !s.eager {
		k.parked = true
		k.past = sampled{}
		return
	}
	k.start, k.startBusy, k.startCycles = s.now, k.busy, k.cycles
	s.q.Set(s.checkSlot(i), evCheck, s.now+s.g.period)
}

// track follows the utilisation of a CPU and of what runs on it through dt.
func (s *sim) track(k *cpu, dt Time) {
	scale := min(1, s.hw.scale[k.point])
	fade := s.g.fade(dt, scale)
	k.util = 1 - (1-k.util)*fade
	k.lag += float64(dt) * (1 - scale)
	r := &s.procs[k.proc]
	r.util = 1 - (1-r.util)*fade
	r.utilAt = s.now
}

// migrate moves a process's utilisation to the CPU that it is about to run on.
func (s *sim) migrate(i, p int32) {
	r := &s.procs[p]
	r.util *= decay(float64(s.now-r.utilAt) / s.g.halfLife)
	r.utilAt = s.now
	if r.last == i {
		return
	}
	if r.last >= 0 {
		s.account(r.last)
		old := &s.cpus[r.last]
		old.util = max(0, old.util-r.util)
	}
	s.cpus[i].util = min(1, s.cpus[i].util+r.util)
}

// settle makes up for the slow clock when a CPU idles.
func (s *sim) settle(i int32) {
	k := &s.cpus[i]
	k.util *= decay(k.lag / s.g.halfLife)
	k.lag = 0
}

// wakeBoost is schedutil's iowait boost: from an eighth, doubling with each
// wake-up from I/O that follows within a tick.
func (s *sim) wakeBoost(i int32) {
	k := &s.cpus[i]
	if !s.g.ioBoost {
		return
	}
	if s.now-k.boostAt > s.g.period {
		k.boost = 0
	}
	if s.procs[k.proc].io {
		k.boost = min(1, max(1.0/8, 2*k.boost))
		k.boostAt = s.now
	} else if k.boost /= 2; k.boost < 1.0/8 {
		k.boost = 0
	}
}

// consider lets schedutil choose, at scheduling events and ticks.
func (s *sim) consider(i int32) {
	k := &s.cpus[i]
	est := 0.0
	if k.proc >= 0 {
		est = s.procs[k.proc].est
	}
	want := int32(s.g.tracked(s.c.Machine.PStates, k.util, est, k.boost))
	if s.now-k.start >= s.g.rateLimit && (want != k.request || s.hw.perDom > 1) {
		k.start = s.now
		s.ask(i, want)
	}
	if k.proc < 0 {
		return
	}
	// At the highest state utilisation only grows until the slice ends.
	if k.request != int32(s.g.top) || want != k.request {
		s.q.Set(s.checkSlot(i), evCheck, s.now+s.g.period)
	} else {
		s.q.Cancel(s.checkSlot(i))
	}
}
