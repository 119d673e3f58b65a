package assess

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/model"
	"hostlab/internal/predict"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/trace"
)

// Policy is what a power policy would cost the service, against full speed.
type Policy struct {
	Name       string           `json:"name"`
	Bound      model.Bound      `json:"bound"`       // of one whose choice is the hardware's; "": simulated itself
	Today      bool             `json:"today"`       // it is in force here
	CPUSeconds *result.Estimate `json:"cpu_seconds"` // as a ratio; nil: Reason says why
	Response   *result.Estimate `json:"response"`    // of a burst's time, from its beginning to its end
	N          int              `json:"n"`           // stretches of the minute, which each replication draws anew
	Evidence   result.Evidence  `json:"evidence"`
	Reason     string           `json:"reason"`
}

// Policies are those of this host's system.
type Policies struct {
	Rows   []Policy
	Basis  string               // of their figures, or why there are none
	Beyond *predict.HostDecides // who has the clock, if not this host
}

// simulatedEvents are what a policy's simulation may take: some seconds of one CPU for all of them.
const simulatedEvents = 300_000

// leastBursts have lengths of which a resampled minute shows the scatter. One of a minute counts for each of its
// seconds.
const leastBursts = 30

// predictPolicies simulates the service's own bursts; unseen says why there are none.
func predictPolicies(ctx context.Context, seen *trace.Result, unseen error, facts *host.Facts) (out Policies) {
	if facts == nil {
		return out
	}
	machine, err := predict.FromFacts(facts, "this host")
	if err != nil {
		out.Basis = err.Error()
		return out
	}
	names := predict.DefaultPolicies(machine, false)
	if machine.HostDecides != nil {
		names = append(slices.Clone(names), "balanced")
	}
	out.Beyond = machine.HostDecides
	q := predict.Question{Machine: machine, Options: model.Options{Seed: 1, Replications: predict.Replications,
		Precision: 0.05,
		Events:    simulatedEvents, Workers: 1}}
	q.Baseline, _ = model.ParsePolicy("performance") // all are built in
	for _, name := range names {
		p, _ := model.ParsePolicy(name)
		q.Policies = append(q.Policies, p)
	}
	var compared []model.Comparison
	if unseen == nil {
		q.Workload, unseen = workloadOf(seen)
	}
	if unseen == nil {
		if n := q.Workload.Stretches(); n < leastStretches || q.Workload.Lengths() < leastBursts {
			unseen = fmt.Errorf("too few for an interval: %s in %s of time, but it takes %d in %d; watch longer with --for",
				screen.Count(len(seen.Bursts), "burst"), screen.Plural(n, "stretch", "stretches"), leastBursts, leastStretches)
		} else {
			compared, unseen = predict.Compare(ctx, q)
		}
	}
	if unseen != nil {
		out.Basis = unseen.Error()
		for _, p := range q.Policies {
			out.Rows = append(out.Rows, Policy{Name: p.Name, Today: p.Name == machine.InForce,
				Reason: "the service's bursts are not known: " + out.Basis})
		}
		return out
	}
	out.Basis = fmt.Sprintf(
		"Simulated from %d CPU bursts of this host, of %s on average, seen in %d stretches of time; the service "+
			"ran for %s of the bursts' time. 'hostlab predict' simulates other bursts, those of its --workload, and its figures differ.",
		len(seen.Bursts), result.Format(q.Workload.MeanBurst(), "s"), q.Workload.Stretches(),
		result.Share(q.Workload.ServiceShare()))
	for _, r := range compared[0].All() {
		p := Policy{Name: r.Policy, Bound: r.Bound, Today: r.Policy == machine.InForce, N: q.Workload.Stretches(),
			Reason: r.Refused}
		if r.Policy == q.Baseline.Name && !p.Today {
			continue // all others are compared with it
		}
		if cpu, ok := r.Ratio[model.CPUSeconds]; ok {
			response := r.Ratio[model.StepTime]
			p.CPUSeconds, p.Response, p.Evidence = &cpu, &response, result.Simulated
			p.Reason = "its own bursts on this machine, against " + q.Baseline.Name
		}
		out.Rows = append(out.Rows, p)
	}
	return out
}

// evidence is what the policy in force costs, for the lever that it sets: what full speed would save of the CPU time.
func (p *Policies) evidence() []lever.Evidence {
	for _, r := range p.Rows {
		if !r.Today || r.CPUSeconds == nil || r.Bound != model.Exact {
			continue
		}
		gain := r.CPUSeconds.Map(func(ratio float64) float64 { return 1 - 1/ratio })
		gain.Evidence = r.Evidence
		return []lever.Evidence{{Source: lever.OfSimulation, Kind: r.Evidence, Gain: &gain,
			Text: fmt.Sprintf("against full speed, %s takes %s the CPU seconds", r.Name, r.CPUSeconds.Brief())}}
	}
	return nil
}

// workloadOf replays what was recorded.
func workloadOf(seen *trace.Result) (predict.Workload, error) {
	if seen == nil {
		return predict.Workload{}, errors.New("the service has no process here")
	}
	record, err := seen.Record()
	if err != nil {
		return predict.Workload{}, err
	}
	return predict.FromRecord(seen.Target, record, true)
}

// policies is the section of them.
func (m *Minute) policies() document.Section {
	s := document.Section{Title: "Power policies"}
	if m.Policies.Basis == "" {
		return s
	}
	if h := m.Policies.Beyond; h != nil {
		s.Blocks = append(s.Blocks, document.Line{Text: h.Text()})
	}
	t := &document.Table{Columns: document.Headings("policy", "CPU seconds", "response"),
		Lead: m.Policies.Basis + " Ratios to full speed, with 95 % intervals."}
	for _, p := range m.Policies.Rows {
		if p.CPUSeconds == nil || p.Response == nil {
			continue
		}
		name := p.Name
		if p.Bound != model.Exact {
			name += ", at its " + string(p.Bound)
		}
		if p.Today {
			name += " (today's)"
		}
		ratio := func(e *result.Estimate) document.Cell { return document.Number(e.Value, e.Text(), e.Interval()) }
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{document.Text(name), ratio(p.CPUSeconds),
			ratio(p.Response)}})
	}
	if len(t.Rows) == 0 {
		s.Blocks = append(s.Blocks, document.Line{Text: lever.Sentence("What power policies would cost is unknown: " +
			m.Policies.Basis)})
	} else {
		s.Blocks = append(s.Blocks, t)
	}
	if m.Policies.Beyond != nil {
		s.Blocks = append(s.Blocks, document.Points(m.Policies.Beyond.Ask...))
	}
	return s
}
