package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hostlab/internal/document"
	"hostlab/internal/result"
)

func sample() *Report {
	r := &Report{Schema: 3, Tool: "test", Vendor: "PostgreSQL", Version: "15.18", Target: "u at h:5432 </script>", Wall: 10, Elapsed: 40, Busy: 30, Samples: 300,
		Interval: 0.033, Cost: 0.005, Method: Method, Transactions: 1000, Missing: []string{"grant something"}, Warnings: []string{"a warning"},
		Parts: []Part{{Name: Application, Seconds: 9, Share: result.Estimate{Value: 0.225, Low: 0.2, High: 0.25}, Source: "samples"}, {Name: DatabaseCPU, Seconds: 12, Share: result.Estimate{Value: 0.3, Low: 0.3, High: 0.3}, Source: "schedstat"},
			{Name: LogWait, Seconds: 9, Share: result.Estimate{Value: 0.225, Low: 0.2, High: 0.25}, Source: "pg_stat_wal by samples, samples"}, {Name: Idle, Seconds: 10, Share: result.Estimate{Value: 0.25, Low: 0.2, High: 0.3}, Source: "samples"}},
		Events: []Event{{Name: "IO:WALSync", Meaning: "log on its way to the device", Part: LogWait, Count: 4000, Seconds: 9, Average: result.Finite(0.00225), Share: result.Estimate{Value: 0.225, Low: 0.225, High: 0.225}, Source: "pg_stat_wal"},
			{Name: "on CPU", Part: DatabaseCPU, Count: -1, Seconds: 12, Share: result.Estimate{Value: 0.3, Low: 0.3, High: 0.3}}},
		Log: Log{Writes: 4000, Syncs: 4000, Bytes: 1 << 20, Seconds: result.Finite(9), Average: result.Finite(0.00225), Source: "pg_stat_wal"}}
	r.Bounds = Bounds(r)
	r.Bounds[0].Gain, r.Bounds[0].GainSource = result.Estimate{Value: 0.12, Low: 0.10, High: 0.14, N: 12, Evidence: "measured"}, "experiment log-device in log, log tmpfs against disk"
	r.Bounds[1].Unmeasured = "the experiments given did not vary the others"
	return r
}

func TestText(t *testing.T) {
	r := sample()
	var b bytes.Buffer
	if err := document.WriteText(&b, Document(r, r), document.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"at most 33 % of it", "IO:WALSync", "grant something", "2.25 ms a log write", "BEFORE AND AFTER",
		"experiment log-device in log", "not measured; the experiments"} {
		if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	for l := range strings.Lines(b.String()) {
		if utf8.RuneCountInString(strings.TrimRight(l, "\n")) > 80 {
			t.Errorf("wider than 80 columns: %s", l)
		}
	}
}

func TestCostAtMost(t *testing.T) {
	r := sample()
	if said := evidence(r); !strings.HasSuffix(said, "asking took 0.5 % of one CPU") {
		t.Error(said)
	}
	r.CostAtMost = true
	if said := evidence(r); !strings.Contains(said, "asking took at most 0.5 % of one CPU") {
		t.Error(said)
	}
}

// Where no session was seen, the log's account does not speak against that.
func TestNothingRan(t *testing.T) {
	for _, c := range []struct {
		log         Log
		want, never string
	}{
		{Log{Writes: 0, Syncs: 0, Bytes: 54, Source: "pg_stat_wal"}, "made 54 B, none of it written meanwhile", "[written"},
		{Log{Writes: 0, Syncs: 0, Bytes: 0, Source: "pg_stat_wal"}, "there was no log write", "nothing was written"},
		{Log{Writes: 3, Syncs: 2, Bytes: 54, Average: result.Finite(1e-3), Source: "pg_stat_wal"}, "written 54 B", "[made"},
		{Log{Writes: -1, Syncs: 1, Bytes: 54, Source: "x"}, "written 54 B", "no log write"},
	} {
		r := &Report{Vendor: "PostgreSQL", Version: "15", Wall: 5, Transactions: 5, Log: c.log}
		said := fmt.Sprint(Sentences(r), logPairs(r))
		if !strings.Contains(said, c.want) || strings.Contains(said, c.never) || !strings.Contains(said, "5 (1.00 /s) of sessions that did not show") || strings.Contains(said, "was connected") {
			t.Error(said)
		}
	}
}

// Transactions that were not counted are said so, with what they are at most, and nothing of
// what was not seen.
func TestUncountedTransactions(t *testing.T) {
	for want, change := range map[string]func(*Report){
		"1000 (100 /s), 30.0 ms busy time each; not counted: taken from commits; at most there were 4000  [": func(r *Report) { r.TransactionsLow, r.TransactionsHigh = 1000, 4000 },
		"from 1000 to 4000: the server does not count them": func(r *Report) {
			r.Transactions, r.TransactionsLow, r.TransactionsHigh = -1, 1000, 4000
		},
		"1000 (100 /s), 30.0 ms busy time each  [": func(*Report) {},
	} {
		r := sample()
		change(r)
		if said := fmt.Sprint(logPairs(r)); !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
}

// Why log writes have no time is said as it is under NOT SEEN.
func TestUntimed(t *testing.T) {
	for untimed, want := range map[string]string{"MariaDB has no counter for it": "unknown: MariaDB has no counter for it", "": "unknown: this server does not report"} {
		r := sample()
		r.Log.Average, r.Log.Untimed = nil, untimed
		if said := fmt.Sprint(logPairs(r)); !strings.Contains(said, want) {
			t.Error(said)
		}
	}
}

// The wait for a CPU leads where there is much of it.
func TestCrowded(t *testing.T) {
	r := sample()
	r.Parts = append(r.Parts, Part{Name: RunQueue, Seconds: 6, Share: result.Estimate{Value: 0.15, Low: 0.15, High: 0.15}, Source: "schedstat"})
	r.Bounds = Bounds(r)
	var b bytes.Buffer
	if err := document.WriteText(&b, Document(r, nil), document.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(strings.Fields(b.String()), " ")
	if !strings.Contains(said, "20 % wait for a CPU, 30 % application") || !strings.Contains(said, "more CPUs (for those that are 20 %") {
		t.Error(b.String())
	}
	if r.Bounds[0].Lever != Processor || r.Bounds[len(r.Bounds)-1].Lever != AppTier {
		t.Errorf("not in order: %+v", r.Bounds)
	}
}

// The page explains its words as the terminal does, and has the same order of parts.
func TestPageSaysWhatTextSays(t *testing.T) {
	r := sample()
	r.Parts = append(r.Parts, Part{Name: RunQueue, Seconds: 6, Share: result.Estimate{Value: 0.15, Low: 0.15, High: 0.15}, Source: "schedstat"})
	var text, page bytes.Buffer
	if err := document.WriteText(&text, Document(r, nil), document.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := document.WriteHTML(&page, Document(r, nil)); err != nil {
		t.Fatal(err)
	}
	plain, tables := strings.Join(strings.Fields(text.String()), " "), html.UnescapeString(page.String())
	for _, s := range []string{idleNote, boundsNote} {
		if !strings.Contains(plain, s) || !strings.Contains(tables, s) {
			t.Errorf("not in both: %q", s)
		}
	}
	_, tables, _ = strings.Cut(tables, idleNote)
	if first, second := strings.Index(tables, RunQueue.Title()), strings.Index(tables, DatabaseCPU.Title()); first < 0 || first > second {
		t.Errorf("the wait for a CPU is at %d, the database's CPU at %d", first, second)
	}
}

// How a log write's mean moved is beside it.
func TestStretches(t *testing.T) {
	r := sample()
	r.Log.Stretches = []float64{0.0002, 0.0002, 0.008, 0.006}
	if said := fmt.Sprint(logPairs(r)); !strings.Contains(said, "2.25 ms a log write with its sync, the mean; over 4 stretches 200 us to 8.00 ms, second half 35.00 times the first") {
		t.Error(said)
	}
}

// Where sessions of others do not show, nothing is said to have run or not.
func TestHidden(t *testing.T) {
	r := &Report{Vendor: "MariaDB", Version: "10.11", Wall: 3, Hidden: true, Transactions: 5, Log: NoLog(), Parts: []Part{{Name: Application, Source: "samples"}}}
	r.Bounds = Bounds(r)
	var b bytes.Buffer
	if err := document.WriteText(&b, Document(r, nil), document.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	said := strings.Join(strings.Fields(b.String()), " ")
	if !strings.Contains(said, "those of others do not show") || !strings.Contains(said, "Unknown, as no session") || strings.Contains(said, "othing ran") || strings.Contains(said, "counted") {
		t.Error(said)
	}
}

func TestJSONFollowsItsSchema(t *testing.T) {
	f, err := os.Open("../../docs/schema/explain.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	schema := c.MustCompile("s.json")
	for _, r := range []*Report{sample(), {Schema: 3, Vendor: "MariaDB", Log: NoLog(), Parts: []Part{}}} {
		var b bytes.Buffer
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
		back, err := Read(b.Bytes())
		if err != nil || (back.Log.Average != nil) != (r.Log.Average != nil) {
			t.Errorf("read back: %v", err)
		}
		var v any
		if err := json.Unmarshal(b.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Error(err)
		}
	}
}

func TestHTML(t *testing.T) {
	r := sample()
	var b bytes.Buffer
	if err := document.WriteHTML(&b, Document(r, r)); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Contains(s, "h:5432 </script>") || !strings.Contains(s, "log wait") || !strings.Contains(s, "12 % [10, 14], n 12, measured") || !strings.Contains(s, "<svg") || strings.Contains(s, "http://") && strings.Contains(s, "src=\"http") {
		t.Error("not a safe page with pictures")
	}
}
