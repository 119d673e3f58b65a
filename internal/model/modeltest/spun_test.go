package modeltest

import (
	"context"
	"fmt"

	"hostlab/internal/model"
)

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
