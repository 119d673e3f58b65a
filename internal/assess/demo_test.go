package assess

import (
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/service"
	"hostlab/internal/service/demo"
)

// The trouble of the demo's shop is the first thing that the answer names, and nothing of its time is left over.
func TestDemoNamesItsLog(t *testing.T) {
	const ns, wall, commits = 1e9, 60.0, 18000
	grown := map[string]int64{"transactions": 2 * commits, "commits": commits, "cpu": 15 * ns, "queue": 3 * ns,
		"commit": commits * 8.2e-3 * ns, "client": 7.5 * ns, "think": 306.9 * ns}
	seen := map[explain.Key]float64{{Part: explain.Idle, Event: "think"}: 300,
		{Part: explain.DatabaseCPU, Event: explain.OnCPU}: 25, {Part: explain.LogWait, Event: "commit"}: 145,
		{Part: explain.Application, Event: "client"}: 10}
	a := (&demo.Service{}).Account(explain.Growth{Seconds: wall, Values: grown})
	looks := 600
	r := explain.Report{Vendor: "demo shop", Wall: wall, Seen: &looks, Transactions: a.Transactions, Log: a.Log, Peak: 8}
	minute := []explain.Batch{{Wall: wall, Seconds: seen, Snapshots: looks}}
	r.Elapsed, r.Parts, r.Events, r.Warnings = explain.Decompose(minute, a)
	r.Busy = r.Elapsed - r.Part(explain.Idle).Seconds
	if rest := r.Part(explain.Unexplained).Seconds; rest > 0.01*r.Busy || len(r.Warnings) > 0 {
		t.Errorf("%.2f s of %.2f s unexplained, %q", rest, r.Busy, r.Warnings)
	}
	m := &Minute{Service: service.Service{Kind: service.Demo, Name: "the demo shop"}, Connected: true, Local: true,
		Report: r, Host: Host{CPUs: 2}, Unseen: map[string]string{}}
	levers := m.Levers()
	if l := levers[0]; m.First(levers) != lever.Log || l.Name != lever.Log || l.Verdict != lever.Worthwhile {
		t.Errorf("first %q: %+v", m.First(levers), l)
	}
}
