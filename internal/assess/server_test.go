package assess

import (
	"bytes"
	"strings"
	"testing"

	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

// served is the minute of a PostgreSQL whose sessions showed.
func served(parts map[explain.PartName]float64) *Minute {
	m := minute(parts)
	m.Service, m.Connected, m.Report.Vendor = service.Service{Kind: service.Database, Name: "PostgreSQL", PID: 7}, true, "PostgreSQL"
	m.Report.Transactions = 1000
	return m
}

// TestServerFirst: a setting of the server comes first where it takes more than any lever could save, or where it makes the waits
// that the lever would shorten; else it stands apart.
func TestServerFirst(t *testing.T) {
	gain := func(name string, likely float64) lever.Lever {
		l := lever.Lever{Name: name, Next: lever.Next{Command: "x"}}
		l.Gains(likely, likely, likely, likely)
		return l
	}
	copies := served(map[explain.PartName]float64{explain.DatabaseCPU: 100})
	copies.Report.Copies = &explain.Copies{Count: 10_000_000, Seconds: 30}
	copies.Report.Totals = &explain.Totals{Seconds: 60, Settings: map[string]string{"shared_buffers": "128MB"}}
	bound := *copies
	bound.Host.CPUs, bound.Host.Allowed = 2, 1
	forced := served(map[explain.PartName]float64{explain.DatabaseCPU: 60, explain.LogWait: 40})
	forced.Report.Totals = &explain.Totals{Seconds: 60, Settings: map[string]string{"max_wal_size": "32MB", "checkpoint_timeout": "5min"},
		Grown: map[string]int64{"checkpoints_forced": 48, "log": 1 << 30, "wal_bytes": 1 << 30, "wal_fpi": 1 << 16}}
	const buffers = `30 % of active time goes to copies from the page cache into shared_buffers (128MB), 3.00 us each. First, in the server: alter`
	for name, c := range map[string]struct {
		minute *Minute
		levers []lever.Lever
		want   string
		first  bool
	}{
		"more than any lever":  {copies, []lever.Lever{gain(lever.CPUs, 0.2)}, buffers, true},
		"needless work":        {copies, []lever.Lever{gain(lever.CPUs, 0.4)}, buffers, true}, // before CPUs are bought for it
		"CPUs that are there":  {&bound, []lever.Lever{gain(lever.CPUs, 0.4)}, "30 % of active time goes to copies", false},
		"less than a lever":    {copies, []lever.Lever{gain(lever.Clock, 0.4)}, "30 % of active time goes to copies", false},
		"no lever":             {copies, nil, buffers, true},
		"the waits of a lever": {forced, []lever.Lever{gain(lever.Log, 0.4)}, "48 of 48 checkpoints in 60.0 s were forced by max_wal_size (32MB)", true},
		"others' waits":        {forced, []lever.Lever{gain(lever.Clock, 0.3)}, "48 of 48 checkpoints", false},
	} {
		got := c.minute.Verdict(c.levers)
		if !strings.Contains(got+strings.Join(c.minute.Tells(), " "), c.want) || strings.HasPrefix(got, c.want) != c.first {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
		if name := c.minute.First(c.levers); (name == c.minute.Server()[0].Parameter) != c.first || name == "" {
			t.Errorf("%s: %q is first in JSON", got, name)
		}
		if strings.Count(got, "irst: run") > 0 == c.first {
			t.Errorf("%s: one first step: %s", name, got)
		}
	}
	next := copies.Brief(nil, 3, "")[2] // an SQL statement stands as it is typed
	if l, ok := next.Blocks[0].(document.Line); !ok || l.Text != "In the server: "+copies.Server()[0].Step {
		t.Errorf("the first step: %+v", next)
	}
	if list := copies.Server(); len(list) != 1 || list[0].Parameter != "shared_buffers" {
		t.Errorf("%+v", list)
	}
	copies.Connected = false
	if list := copies.Server(); list == nil || len(list) != 0 {
		t.Errorf("of a server that was not asked: %+v", list)
	}
}

// TestHolders: the answer names who held the locks that sessions waited for, and what it did; every format shows them, with the
// statements.
func TestHolders(t *testing.T) {
	m := served(map[explain.PartName]float64{explain.Locks: 80, explain.Application: 20})
	b := explain.Blocker{Relation: "shop.stock", Part: explain.Application, Event: "idle in transaction", Depth: 3, Sessions: 1, PID: 4711, Held: 1,
		User: "app", Application: "nightly \x1b[31mreport", Client: "10.0.0.7 port 80"}
	b.Share.Value, b.Share.Low, b.Share.High, b.Share.N = 1, 0.9, 1, 40
	m.Report.Blockers = []explain.Blocker{b}
	s := explain.Statement{Part: explain.Locks, ID: "42", Kind: explain.QueryID, Text: "update \x1b[31mstock"}
	s.Share = b.Share
	m.Report.Statements = []explain.Statement{s}
	got := m.Verdict(nil)
	for _, want := range []string{"Sessions wait 80 % of active time for locks of session 4711, which is idle in a transaction. First, in the server: have its client end",
		"In 100 % of lock waits the holder waited for its client within a transaction, on shop.stock: session 4711 of user app, application nightly"} {
		testkit.Has(t, got, want)
	}
	d := &document.Document{Sections: m.Sections(nil)}
	for format, write := range map[string]func(*bytes.Buffer) error{
		"text": func(b *bytes.Buffer) error { return document.WriteText(b, d, document.TextOptions{}) },
		"HTML": func(b *bytes.Buffer) error { return document.WriteHTML(b, d) },
	} {
		var b bytes.Buffer
		testkit.OK(t, write(&b))
		for _, want := range []string{"shop.stock", "session 4711", "query_id 42", "stock", "idle in transaction"} {
			testkit.Has(t, strings.Join(strings.Fields(b.String()), " "), want, format)
		}
		if strings.Contains(b.String(), "\x1b[31m") {
			t.Errorf("%s writes what a client named itself as it is", format)
		}
	}
	for part, want := range map[explain.PartName]string{explain.LogWait: "the holder waited for the log", explain.DatabaseCPU: "the holder ran, or was ready to",
		explain.OtherWaits: "the holder showed as User sleep", explain.Unexplained: "the holder showed as not seen"} {
		m.Report.Blockers[0].Part, m.Report.Blockers[0].Event = part, map[explain.PartName]string{explain.OtherWaits: "User sleep"}[part]
		if part == explain.Unexplained {
			m.Report.Blockers[0].Event = "not seen"
		}
		if got := m.held(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", part, got)
		}
	}
	few := served(map[explain.PartName]float64{explain.Locks: 2, explain.DatabaseCPU: 98})
	few.Report.Blockers = m.Report.Blockers
	testkit.Is(t, "", few.held())
}

// TestOneStatement: a statement that has most of the largest part is named in the answer, and one of many is not.
func TestOneStatement(t *testing.T) {
	m := served(map[explain.PartName]float64{explain.DatabaseCPU: 90, explain.Locks: 10})
	s := explain.Statement{Part: explain.DatabaseCPU, ID: "-42", Kind: explain.QueryID}
	s.Share.Value, s.Share.Low, s.Share.High, s.Share.N = 0.9, 0.8, 1, 60
	m.Report.Statements = []explain.Statement{s}
	if got, want := m.Verdict(nil), "Statement -42 (query id) has 90 % of the time on CPUs."; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	m.Report.Statements[0].Share.Low = 0.3
	if got := m.Verdict(nil); strings.Contains(got, "tatement") {
		t.Error(got)
	}
}
