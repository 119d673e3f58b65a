package demo

import (
	"math"
	"math/rand/v2"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/service"
)

// shares are where the time of a healthy service goes.
var shares = map[string]map[explain.PartName]float64{
	"PostgreSQL": {explain.DatabaseCPU: 0.58, explain.RunQueue: 0.03, explain.LogWait: 0.03, explain.DataReads: 0.04,
		explain.Locks: 0.05, explain.OtherWaits: 0.02, explain.Application: 0.22, explain.Unexplained: 0.03},
	"shop.service": {explain.DatabaseCPU: 0.98, explain.RunQueue: 0.02},
}

// watched is a minute of a host's service; nil: it has none.
func (h *made) minute(m *machine, l load, at time.Time, rng *rand.Rand) *assess.Minute {
	if m.service == "" {
		return nil
	}
	database := m.role == "production-db"
	w := &assess.Minute{
		Service: service.Service{Kind: service.Unit, Name: m.service, PID: 194}, Why: "this process tells no sessions",
		Host: assess.Host{CPUs: 4}, Local: database, Unseen: map[string]string{},
	}
	if database {
		w.Service.Kind, w.Connected, w.Why, w.Version = service.Database, true, "", "15.10"
	}
	for _, name := range lever.Names {
		w.Unseen[name] = "this part of the demonstration has no figure for it"
	}
	r := &w.Report
	r.Vendor, r.Version, r.Target, r.Started = m.service, w.Version, m.service, at
	r.Wall, r.Peak, r.Samples, r.Interval, r.Cost, r.Transactions = 60, 16, 1200, 0.05, 0.004, -1
	r.Method, r.Log = "95 % of stretches that were drawn anew", explain.NoLog()
	r.Missing, r.Warnings = []string{}, []string{}

	parts, sum := map[explain.PartName]float64{}, 0.0
	for _, name := range explain.PartNames { // in order: the seed's numbers are drawn in it
		share, there := shares[m.service][name]
		if !there {
			continue
		}
		switch name {
		case explain.DatabaseCPU, explain.Locks:
			share /= or(l.work) * or(l.clock)
		case explain.LogWait:
			share *= or(l.commit)
		}
		parts[name] = share * h.busy * r.Wall * math.Exp(0.04*rng.NormFloat64())
		sum += parts[name]
	}
	parts[explain.Idle] = 4 * h.busy * r.Wall
	r.Busy, r.Elapsed = sum, sum+parts[explain.Idle]
	for _, name := range explain.PartNames {
		seconds, there := parts[name]
		if !there {
			continue
		}
		share := seconds / r.Elapsed
		r.Parts = append(r.Parts, explain.Part{Name: name, Seconds: seconds, Source: "samples",
			Share: result.Estimate{Value: share, Low: share * 0.93, High: share * 1.07, N: r.Samples}})
	}
	for range 12 {
		s := explain.Stretch{Seconds: r.Wall / 12, Parts: map[explain.PartName]float64{}, Transactions: -1}
		for name, seconds := range parts {
			s.Parts[name] = seconds / 12
		}
		r.Course = append(r.Course, s)
	}
	if database {
		r.Transactions = int64(900 * h.busy / sum * h.busy * r.Wall)
	}
	busy := min(0.9, parts[explain.DatabaseCPU]/r.Wall/4)
	w.Host.Busy, w.Host.Foreign, w.Host.Steal = new(busy), new(0.01), new(0.0)
	w.Readings = []service.Reading{{At: r.Wall, CPU: parts[explain.DatabaseCPU], Queue: parts[explain.RunQueue],
		Processes: 12, Threads: 12,
		Busy: new(busy * 4 * r.Wall), Steal: new(0.0), Stalled: map[string]float64{"cpu": 0.5, "io": 0.2, "memory": 0}}}
	mean := highest * m.speed * or(l.clock) * (1 - 0.005*rng.Float64())
	w.Clock = &assess.Frequency{Mean: mean, Low: mean * 0.995, High: mean * 1.002, N: 60, Highest: highest * m.speed,
		Limit: highest * m.speed, Source: "cycles a second of CPU time", Evidence: result.Measured}
	waits := r.Busy * 0.004 * (0.8 + 0.4*rng.Float64())
	w.Wakeups = &assess.Wakeups{Wall: r.Wall, Seconds: waits, Avoidable: waits / 2, Low: waits / 3, Most: waits,
		Source: "wake-ups that the scheduler counted"}
	w.Siblings = &assess.Siblings{Beside: 0.2, Likely: 0.1, AtMost: 0.35,
		Assumes: "a busy sibling takes what the probe measured", Source: "the scheduler, and the probe of siblings"}
	return w
}
