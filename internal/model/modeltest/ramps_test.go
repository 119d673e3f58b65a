package modeltest

import (
	"context"
	"math"

	"hostlab/internal/model"
)

// ramps: from the lowest to the highest frequency under a long slice, mean over
// when in a check interval the slice begins. Every rule's expectation is worked
// out by hand for the SAP machine's states, 50 to 100 % in steps of 5 %; the model
// must come within one check interval.
func ramps() []Case {
	var out []Case
	for _, r := range []struct {
		policy   string
		interval float64
		expected float64
		source   string
	}{
		{"high-performance", 0.015, 0, "always there"},
		// The interval that the slice begins in counts when at least 90 % of it are left
		// (one in ten; then the count is a whole interval ahead). Then 10 rises of one
		// state, 3 intervals each.
		{"balanced-rs1,PERFCHECK=15ms", 0.015, 0.0075 + 10*3*0.015 - 0.1*0.015, "10 states x 3 intervals after half an interval"},
		{"balanced-rs1,PERFCHECK=30ms", 0.030, 0.015 + 10*3*0.030 - 0.1*0.030, "10 states x 3 intervals after half an interval"},
		// A first interval counts from 60 % of it: 0.4 x 12 ms + 0.6 x (4.5+15) ms. Ideal
		// goes to 50/0.6 = 83 %, so to the state of 85 %, and to the top at the next check.
		{"balanced-rs2", 0.015, 0.0165 + 0.015, "first check with 60 %, then one more"},
		// 0.2 x 9 ms + 0.8 x (4 + 10) ms.
		{"ondemand,sampling_rate=10ms", 0.010, 0.013, "first check with more than 80 %"},
		// As ondemand, but 10 steps of 5 %.
		{"conservative,sampling_rate=10ms", 0.010, 0.013 + 0.09, "10 steps of 5 %"},
		// Nearest state to 1.25 x busy share is the top from a share of 0.78.
		{"intel_pstate", 0.010, 0.22*0.0089 + 0.78*0.0139, "first check with more than 78 %"},
		{"schedutil", 0.004, schedutilRamp(), "utilisation with a half-life of 32 ms at the frequency's pace"},
		{"powersave", 0.010, 0, "always there"},
	} {
		tolerance := r.interval / r.expected
		c := Case{Name: r.policy, Group: Ramp, Source: r.source, What: "time to the highest frequency", Unit: "s",
			Expected: r.expected, Tolerance: tolerance, Run: ramp(r.policy)}
		if r.expected == 0 {
			c.AtMost, c.Tolerance = true, 0
		}
		out = append(out, c)
	}
	return out
}

func ramp(text string) func(context.Context) (Answer, error) {
	return func(context.Context) (Answer, error) {
		e, err := model.Ramp(must(model.FindMachine("sap")), policy(text))
		return Answer{Mean: e.Value, Low: math.NaN(), High: math.NaN(), N: e.N, Note: "over phases of the check interval"}, err
	}
}

// schedutilRamp follows util' = 1-(1-util)*2^(-f t/32 ms), looked at every tick of 4
// ms: the lowest state at or above 1.25 x util runs until the next look.
func schedutilRamp() float64 {
	const tick, half = 0.004, 0.032
	u, f, t := 0.0, 0.5, 0.0
	for f < 1 {
		t += tick
		u = 1 - (1-u)*math.Exp2(-tick*f/half)
		f = min(1, max(0.5, math.Ceil(1.25*u*20-1e-9)/20))
	}
	return t
}
