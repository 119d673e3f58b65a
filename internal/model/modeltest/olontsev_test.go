package modeltest

import (
	"hostlab/internal/model"
)

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
