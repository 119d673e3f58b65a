package report_test

import (
	"math"

	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/report"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/trace"
)

// Service is Guest with the minute of its database.
func Service() *report.Assessment {
	a := Guest()
	share := func(v, low, high float64) result.Estimate {
		return result.Estimate{Value: v, Low: low, High: high, N: 1800}
	}
	r := explain.Report{Vendor: "PostgreSQL", Version: "15.18", Target: "postgres at /run/postgresql", Wall: 60,
		Elapsed: 300, Busy: 240, Samples: 1800, Interval: 0.033, Peak: 8,
		Transactions: 60_000, Method: explain.Method, Log: explain.NoLog(),
		Missing: []string{"pg_stat_statements is not installed"}}
	for _, p := range []explain.Part{
		{Name: explain.DatabaseCPU, Seconds: 90, Share: share(0.3, 0.29, 0.31), Source: "schedstat"},
		{Name: explain.RunQueue, Seconds: 60, Share: share(0.2, 0.2, 0.2), Source: "schedstat"},
		{Name: explain.LogWait, Seconds: 45, Share: share(0.15, 0.13, 0.17), Source: "pg_stat_wal"},
		{Name: explain.DataReads, Seconds: 9, Share: share(0.03, 0.02, 0.04), Source: "samples"},
		{Name: explain.Locks, Seconds: 15, Share: share(0.05, 0.04, 0.06), Source: "samples"},
		{Name: explain.OtherWaits, Seconds: 3, Share: share(0.01, 0, 0.02), Source: "samples"},
		{Name: explain.Application, Seconds: 12, Share: share(0.04, 0.03, 0.05), Source: "samples"},
		{Name: explain.Idle, Seconds: 60, Share: share(0.2, 0.18, 0.22), Source: "samples"},
		{Name: explain.Unexplained, Seconds: 6, Share: share(0.02, 0.02, 0.02), Source: "elapsed time less all parts"}} {
		r.Parts = append(r.Parts, p)
		r.Events = append(r.Events, explain.Event{Name: "event of " + string(p.Name), Meaning: "what it means", Part: p.Name,
			Count: 1000, Seconds: p.Seconds, Share: p.Share, Source: "samples"})
	}
	m := &assess.Minute{Service: service.Service{Kind: service.Database, Name: "PostgreSQL", PID: 812}, Version: "15.18",
		Connected: true, Host: assess.Host{CPUs: 2, Busy: new(0.9)},
		Unseen: map[string]string{lever.Idle: "wake-ups were not watched; that takes root and BTF"}}
	for i := range 60 {
		at := 1 + 0.5*math.Sin(float64(i)/6)
		s := explain.Stretch{Seconds: 1, Parts: map[explain.PartName]float64{}, Transactions: int64(1000 * at)}
		for _, p := range r.Parts {
			s.Parts[p.Name] = p.Seconds / 60 * at
		}
		r.Course = append(r.Course, s)
		m.Readings = append(m.Readings, service.Reading{At: float64(i + 1), Busy: new(1.8 * float64(i+1))})
	}
	r.Totals = &explain.Totals{Seconds: 60, Grown: map[string]int64{"checkpoints_forced": 48, "log": 1 << 30, "wal_bytes": 1 << 30, "wal_fpi": 1 << 16},
		Settings: map[string]string{"max_wal_size": "32MB", "checkpoint_timeout": "5min"}}
	r.Sampled = map[string]float64{"event of cpu": 90}
	r.Statements = []explain.Statement{{Part: explain.DatabaseCPU, ID: "42", Kind: explain.QueryID, Share: share(0.6, 0.4, 0.8), Text: "select 1"}}
	r.Blockers = []explain.Blocker{{Relation: "stock", Part: explain.LogWait, Event: "IO:WALSync", Share: share(0.9, 0.7, 1), Depth: 2, Sessions: 3, PID: 4711,
		Held: 0.5, User: "app", Application: "shop"}}
	m.Report = r
	m.Scheduler = (&trace.Result{Length: 60, Seen: 3, Windows: 80, NoOverlap: "no siblings",
		CPUs: []trace.CPU{{Number: 0, Busy: 0.9}}}).Summary()
	a.Scheduler, a.Account = m.Scheduler, &m.Report
	a.Minute, a.Service, a.Time, a.Levers, a.Server = m, m.About(), m.Time(), m.Join(a.Levers), m.Server()
	a.Verdict = assess.Answer{Text: m.Verdict(a.Levers), First: m.First(a.Levers)}
	return a
}
