package analysis

import (
	"fmt"
	"math"

	"hostlab/internal/result"
)

// unsettledMost is the share of an effect of which it is not worth to speak.
const unsettledMost = 0.03

// unsettledGuess is the time constant, in s, that is spoken of where none was found: the pilot sees those up to it.
const unsettledGuess = 120

// unsettled says by how much effects look smaller at most, where periods began before the service had settled, or where
// nothing tells how fast it does; "": not worth speaking of.
//
// After a change, exp(-t/tau) of the effect is not there yet. A period that is measured from t = w to w + l lacks the
// mean of that, m. Where the levels alternate, each period starts from what the one before has left of its own, so that
// 2 m/(1 + exp(-(w+l)/tau)) of an effect is hidden; where one level follows on itself, less.
func unsettled(x *result.Experiment, used []*result.Run) string {
	tau := 0.0
	for _, r := range used {
		tau = max(tau, r.SettlesIn)
	}
	known := tau > 0
	if !known {
		tau = unsettledGuess
	}
	hidden, n := 0.0, 0.0
	for _, r := range used {
		if r.Harm != "" || r.Seconds <= 0 {
			continue
		}
		m := tau / r.Seconds * math.Exp(-r.Waited/tau) * -math.Expm1(-r.Seconds/tau)
		hidden += 2 * m / (1 + math.Exp(-(r.Waited+r.Seconds)/tau))
		n++
	}
	hidden /= n
	begins := fmt.Sprintf("the service settles with a time constant of up to %s, and periods began before it had: effects",
		result.Format(tau, "s"))
	switch {
	case n == 0, x.Design.Kind != result.Switchback, known && hidden <= unsettledMost:
		return ""
	case !known:
		begins = fmt.Sprintf("how fast the service settles is not known; if its time constant is %s, effects",
			result.Format(tau, "s"))
	}
	return fmt.Sprintf("%s look smaller by up to %s of themselves, and their intervals do not allow for it; in a copy of the "+
		"study, set settle to %s", begins, result.Percent(hidden, 0), result.Format(math.Ceil(4*tau/60)*60, "s"))
}
