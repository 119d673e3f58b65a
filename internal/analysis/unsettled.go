package analysis

import (
	"fmt"
	"math"

	"hostlab/internal/result"
)

// unsettledMost is the share of an effect of which it is not worth to speak.
const unsettledMost = 0.03

// unsettled says by how much effects look smaller at most, where periods began before the service had settled; "": not
// worth speaking of, or not known.
//
// After a change, exp(-t/tau) of the effect is not there yet. A period that is measured from t = w to w + l lacks the
// mean of that, m. Where the levels alternate, each period starts from what the one before has left of its own, so that
// 2 m/(1 + exp(-(w+l)/tau)) of an effect is hidden; where one level follows on itself, less.
func unsettled(used []*result.Run) string {
	tau := 0.0
	for _, r := range used {
		tau = max(tau, r.SettlesIn)
	}
	if tau == 0 {
		return ""
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
	if hidden /= n; !(hidden > unsettledMost) {
		return ""
	}
	return fmt.Sprintf("the service settles with a time constant of up to %s, and periods began before it had: effects look smaller by up to "+
		"%.0f %% of themselves, and their intervals do not allow for it; in a copy of the study, set settle to %s",
		result.Format(tau, "s"),
		100*hidden, result.Format(math.Ceil(4*tau/60)*60, "s"))
}
