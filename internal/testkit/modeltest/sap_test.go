package modeltest

import (
	"context"
	"fmt"
	"math"

	"hostlab/internal/model"
)

const (
	sapSeed      = "SAP on SQL Server blog: Effect of Windows Power Mode on SAP Netweaver Applications"
	powerStudies = "a second simulation, written from the same documents, not published"
)

func sap() []Case {
	extract := func(machine string, slice float64, p string) func() model.Case {
		return func() model.Case {
			w := must(model.FindWorkload("sap-extract"))
			k := slice / w.Slice.Mean
			w.Slice, w.Wait = w.Slice.Scaled(k), w.Wait.Scaled(k)
			return model.Case{Machine: must(model.FindMachine(machine)), Workload: w, Policy: policy(p)}
		}
	}
	cpu := func(name, source string, expected, tolerance float64, c func() model.Case) Case {
		return Case{Name: name, Group: SAP, Source: source, What: "CPU time of the extract", Unit: "s",
			Expected: expected, Tolerance: tolerance, Run: response(c, model.Options{Replications: 3, Events: 1e9}, model.CPUSeconds)}
	}
	floor := cpu("extract, slices of 20 ms, lowest state 57 %", "5000 s / 0.57", 8772, 0, extract("intel-e7", 0.020, "balanced"))
	floor.AtMost = true
	cases := []Case{
		cpu("extract, High performance", sapSeed, 5000, 0.001, extract("sap", 0.020, "high-performance")),
		cpu("extract, Balanced, slices of 5 ms", sapSeed, 10000, 0.01, extract("sap", 0.005, "balanced")),
		cpu("extract, Balanced, slices of 20 ms", sapSeed, 10000, 0.01, extract("sap", 0.020, "balanced")),
		cpu("extract, Balanced, slices of 50 ms", powerStudies, 9550, 0.02, extract("sap", 0.050, "balanced")),
		cpu("extract, Balanced, slices of 100 ms", powerStudies, 8806, 0.02, extract("sap", 0.100, "balanced")),
		floor,
	}
	// "the time of a SAP dialog step nearly doubled": no figure. CPU time can at most
	// double, and the waits do not change.
	cases = append(cases, Case{Name: "dialog at 5 % load, Balanced, 30 ms", Group: SAP, Source: sapSeed + ` ("nearly doubled")`,
		What: "step time / High performance", Expected: 1.9, Run: cell("balanced-rs1,PERFCHECK=30ms", 0.05, model.StepTime)})
	for _, p := range tablePolicies {
		cases = append(cases, Case{Name: "dialog at 95 % load, " + p.text, Group: SAP, Source: sapSeed + " (no effect at high load)",
			What: "CPU time / High performance", Expected: 1.05, AtMost: true, Run: cell(p.text, 0.95, model.CPUSeconds)})
	}
	return cases
}

var tableLoads = []float64{0.05, 0.20, 0.50, 0.70, 0.95}

// tablePolicies are the rows of the second simulation's table: step time and CPU time against
// High performance by load. judged says whether the model describes what that
// simulated; schedutil's row there fits utilisation without UTIL_EST, which Linux 6.12
// has on, so the default is recorded beside it.
var tablePolicies = []struct {
	text   string
	judged bool
	step   []float64
	cpu    []float64
}{
	{"balanced-rs1,PERFCHECK=15ms", true, []float64{1.53, 1.51, 1.51, 1.51, 1.25}, []float64{1.77, 1.74, 1.66, 1.36, 1.04}},
	{"balanced-rs1,PERFCHECK=30ms", true, []float64{1.62, 1.61, 1.62, 1.56, 1.20}, []float64{1.90, 1.89, 1.74, 1.38, 1.04}},
	{"balanced-rs2", true, []float64{1.12, 1.10, 1.10, 1.07, 1.06}, []float64{1.17, 1.15, 1.14, 1.09, 1.01}},
	{"ondemand,sampling_rate=10ms", true, []float64{1.06, 1.05, 1.06, 1.05, 0.97}, []float64{1.08, 1.08, 1.08, 1.06, 1.01}},
	{"schedutil,UTIL_EST=off", true, []float64{1.16, 1.14, 1.07, 1.03, 0.90}, []float64{1.24, 1.20, 1.10, 1.03, 0.99}},
	{"schedutil", false, []float64{1.16, 1.14, 1.07, 1.03, 0.90}, []float64{1.24, 1.20, 1.10, 1.03, 0.99}},
}

// governors is that table. Judged within 3 % are the CPU times, and the step times up
// to a load of 20 %: above, step times hold queueing, which depends on how that
// simulation placed and queued slices, and at 95 % on its luck (a ratio below 1 cannot come from a
// slower processor).
func governors() []Case {
	var out []Case
	for _, p := range tablePolicies {
		for i, load := range tableLoads {
			name := fmt.Sprintf("dialog at %.0f %% load, %s", load*100, p.text)
			tolerance := 0.0
			if p.judged && (load <= 0.2 || p.text != "schedutil,UTIL_EST=off") {
				tolerance = 0.03
			}
			out = append(out, Case{Name: name, Group: Governors, Source: powerStudies, What: "CPU time / High performance",
				Expected: p.cpu[i], Tolerance: tolerance, Run: cell(p.text, load, model.CPUSeconds)})
			if load > 0.2 {
				tolerance = 0
			}
			out = append(out, Case{Name: name, Group: Governors, Source: powerStudies, What: "step time / High performance",
				Expected: p.step[i], Tolerance: tolerance, Run: cell(p.text, load, model.StepTime)})
		}
	}
	return out
}

// table simulates all cells at once, for sap and governors.
var table = shared(func(ctx context.Context) ([]model.Comparison, error) {
	var policies []model.Policy
	for _, p := range tablePolicies {
		policies = append(policies, policy(p.text))
	}
	c := model.Case{Machine: must(model.FindMachine("sap")), Workload: must(model.FindWorkload("sap-dialog"))}
	return model.CompareAll(ctx, c.AtLoads(tableLoads), policy("high-performance"), policies,
		model.Options{Seed: seed, Level: level, Events: 2_000_000})
})

func cell(text string, load float64, r model.Response) func(context.Context) (Answer, error) {
	return func(ctx context.Context) (Answer, error) {
		all, err := table(ctx)
		if err != nil {
			return Answer{}, err
		}
		for i, c := range all {
			for k, row := range c.Rows {
				if tableLoads[i] == load && tablePolicies[k].text == text {
					return of(row.Ratio[r]), nil
				}
			}
		}
		return Answer{Mean: math.NaN()}, fmt.Errorf("the table has no cell %s at %g", text, load)
	}
}
