package assess

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

func sample() *Minute {
	type share = result.Estimate
	r := explain.Report{Tool: "test", Vendor: "PostgreSQL", Version: "15.18", Target: "u at h:5432 </script>", Wall: 10,
		Elapsed: 40, Busy: 30, Samples: 300,
		Interval: 0.033, Cost: 0.005, Method: explain.Method, Transactions: 1000, Missing: []string{"grant something"},
		Warnings: []string{"a warning"},
		Parts: []explain.Part{{Name: explain.DatabaseCPU, Seconds: 12, Share: share{Value: 0.3, Low: 0.3, High: 0.3},
			Source: "schedstat"},
			{Name: explain.LogWait, Seconds: 9, Share: share{Value: 0.225, Low: 0.2, High: 0.25},
				Source: "pg_stat_wal by samples, samples"},
			{Name: explain.Application, Seconds: 9, Share: share{Value: 0.225, Low: 0.2, High: 0.25}, Source: "samples"},
			{Name: explain.Idle, Seconds: 10, Share: share{Value: 0.25, Low: 0.2, High: 0.3}, Source: "samples"}},
		Events: []explain.Event{{Name: "IO:WALSync", Meaning: "log on its way to the device", Part: explain.LogWait,
			Count: 4000, Seconds: 9, Average: result.Finite(0.00225), Share: share{Value: 0.225, Low: 0.225, High: 0.225},
			Source: "pg_stat_wal"},
			{Name: "on CPU", Part: explain.DatabaseCPU, Count: -1, Seconds: 12, Share: share{Value: 0.3, Low: 0.3, High: 0.3}}},
		Log: explain.Log{Writes: 4000, Syncs: 4000, Bytes: 1 << 20, Seconds: result.Finite(9),
			Average: result.Finite(0.00225), Source: "pg_stat_wal"}}
	for range 5 {
		r.Course = append(r.Course, explain.Stretch{Seconds: 2, Transactions: 200,
			Parts: map[explain.PartName]float64{explain.DatabaseCPU: 2.4, explain.LogWait: 1.8}})
	}
	return &Minute{Service: service.Service{Kind: service.Database, Name: "PostgreSQL"}, Connected: true, Report: r,
		Unseen: map[string]string{}}
}

// explained is the document of a sample with a measured gain.
func explained(m *Minute, before *explain.Report) *document.Document {
	levers := m.Levers()
	for i := range levers {
		if levers[i].Name == lever.Log {
			levers[i].Add(lever.Evidence{Source: lever.OfExperiment, Kind: result.Measured,
				Text: "experiment log-device in log, log tmpfs against disk",
				Gain: &result.Estimate{Value: 0.12, Low: 0.10, High: 0.14, N: 12, Evidence: "measured"}})
		}
	}
	d := &document.Document{Name: "x", Title: "x", Answer: []document.Line{{Text: m.Verdict(levers)}},
		Sections: m.Sections(levers)}
	if before != nil {
		d.Sections = append(d.Sections, m.Compared(&Minute{Report: *before}, 0))
	}
	return d
}

func TestCostAtMost(t *testing.T) {
	r := sample()
	if said := evidence(&r.Report); !strings.HasSuffix(said, "watching cost 0.5 % of one CPU") {
		t.Error(said)
	}
	r.Report.CostAtMost = true
	if said := evidence(&r.Report); !strings.Contains(said, "watching cost at most 0.5 % of one CPU") {
		t.Error(said)
	}
}

// Where no session was seen, the log's account does not speak against that.
func TestNothingRan(t *testing.T) {
	for _, c := range []struct {
		log         explain.Log
		want, never string
	}{
		{explain.Log{Writes: 0, Syncs: 0, Bytes: 54, Source: "pg_stat_wal"}, "made 54 B, none of it written in this time",
			"[written"},
		{explain.Log{Writes: 0, Syncs: 0, Bytes: 0, Source: "pg_stat_wal"}, "there was no log write", "nothing was written"},
		{explain.Log{Writes: 3, Syncs: 2, Bytes: 54, Average: result.Finite(1e-3), Source: "pg_stat_wal"}, "written 54 B",
			"[made"},
		{explain.Log{Writes: -1, Syncs: 1, Bytes: 54, Source: "x"}, "written 54 B", "no log write"},
	} {
		said := fmt.Sprint(logPairs(&explain.Report{Vendor: "PostgreSQL", Version: "15", Wall: 5, Transactions: 5,
			Log: c.log}))
		if !strings.Contains(said, c.want) || strings.Contains(said, c.never) ||
			!strings.Contains(said, "5 (1.00 /s) in sessions that were not seen") || strings.Contains(said, "was connected") {
			t.Error(said)
		}
	}
}

// Transactions that were not counted are said so, with what they are at most, and nothing of
// what was not seen.
func TestUncountedTransactions(t *testing.T) {
	for want, change := range map[string]func(*explain.Report){
		"1000 (100 /s), 30.0 ms active time each; estimated from commits, at most 4000  [": func(r *explain.Report) { r.TransactionsLow, r.TransactionsHigh = 1000, 4000 },
		"from 1000 to 4000: the server has no count of them alone": func(r *explain.Report) {
			r.Transactions, r.TransactionsLow, r.TransactionsHigh = -1, 1000, 4000
		},
		"1000 (100 /s), 30.0 ms active time each  [": func(*explain.Report) {},
	} {
		r := sample()
		change(&r.Report)
		if said := fmt.Sprint(logPairs(&r.Report)); !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
}

// Why log writes have no time is said as it is under NOT SEEN.
func TestUntimed(t *testing.T) {
	for untimed, want := range map[string]string{"MariaDB has no counter for it": "unknown: MariaDB has no counter for it", "": "unknown: this server does not report"} {
		r := sample()
		r.Report.Log.Average, r.Report.Log.Untimed = nil, untimed
		if said := fmt.Sprint(logPairs(&r.Report)); !strings.Contains(said, want) {
			t.Error(said)
		}
	}
}

// How a log write's mean moved is beside it.
func TestStretches(t *testing.T) {
	r := sample()
	r.Report.Log.Stretches = []float64{0.0002, 0.0002, 0.008, 0.006}
	if said := fmt.Sprint(logPairs(&r.Report)); !strings.Contains(said,
		"2.25 ms per log write with its sync; in 4 stretches of time 200 us to 8.00 ms, the second half 35.00 times the first") {
		t.Error(said)
	}
}

func TestHTML(t *testing.T) {
	r := sample()
	var b bytes.Buffer
	testkit.OK(t, document.WriteHTML(&b, explained(r, &r.Report)))
	if s := testkit.Words(b.String()); strings.Contains(s, "h:5432 </script>") || !strings.Contains(s, "log wait") ||
		!strings.Contains(s, "12 % [10, 14], n 12, measured") || !strings.Contains(s, "<svg") ||
		strings.Contains(s, "http://") && strings.Contains(s, "src=\"http") {
		t.Error("not a safe page with pictures")
	}
}

// TestBoundedLeverIsShown: a lever that is only bounded shows its bound.
func TestBoundedLeverIsShown(t *testing.T) {
	m := sample()
	m.Bounds = map[string]Bounded{lever.SMT: {Each: 0.6, Evidence: result.Measured, Source: "a counter"}}
	var b bytes.Buffer
	testkit.OK(t, document.WriteText(&b, explained(m, nil), document.TextOptions{}))
	if !strings.Contains(b.String(), "at most 20 %") {
		t.Error(b.String())
	}
}

// The evidence says how many samples asked nothing, and how often the server was asked.
func TestEvidenceOfLooks(t *testing.T) {
	r := &explain.Report{Wall: 60, Samples: 3064, Looks: 3064, Questions: 37, Interval: 0.0196, Cost: 0.01}
	want := "measured for 60.0 s from counters and 3064 samples, one every 19.6 ms on average; 3064 samples are looks at its processes, and it was " +
		"asked 37 times; watching cost 1.0 % of one CPU"
	testkit.Is(t, want, evidence(r))
	if r.Looks, r.Questions = 0, 0; strings.Contains(evidence(r), "looks") {
		t.Error(evidence(r))
	}
}

// A version is a number; what a service says in words in its place is none.
func TestProduct(t *testing.T) {
	for version, want := range map[string]string{"15.18 (Debian)": "x 15.18", "10.11.6-MariaDB": "x 10.11.6-MariaDB", "in memory": "x", "": "x"} {
		testkit.Is(t, want, (&Minute{Service: service.Service{Name: "x"}, Version: version}).Product(), version)
	}
}
