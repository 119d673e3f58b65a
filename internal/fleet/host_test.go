package fleet

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/lever"
	"hostlab/internal/testkit"
)

func ptr(v float64) *float64 { return &v }

func measured(value, low, high, noise float64) Measurement {
	return Measurement{Value: ptr(value), Low: ptr(low), High: ptr(high), Noise: ptr(noise), N: 9}
}

func TestDiff(t *testing.T) {
	a := &Host{Name: "a", Levers: []Lever{{Lever: lever.Lever{Name: lever.Clock, AtMost: ptr(0.3),
		Next: lever.Next{Command: "hostlab run live-governor"}}}}}
	b := &Host{Name: "b", Service: "PostgreSQL"}
	factsA := map[string]Value{"frequency.policies[].governor": {"powersave", "", "ok"}, "memory.ksm": {"0", "", "ok"},
		"kernel.same": {"1", "", "ok"}}
	factsB := map[string]Value{"frequency.policies[].governor": {"performance", "", "ok"},
		"memory.ksm": {"", "", "denied"}, "kernel.same": {"1", "", "ok"}}
	apart, differ := Diff(a, b, factsA, factsB,
		map[string]Measurement{"far": measured(1, 0.9, 1.1, 0.02), "noisy": measured(1, 0.99, 1.01, 0.2),
			"near": measured(1, 0.8, 1.2, 0)},
		map[string]Measurement{"far": measured(2, 1.9, 2.1, 0.02), "noisy": measured(1.1, 1.09, 1.11, 0),
			"near": measured(1.1, 0.9, 1.3, 0)})
	if len(apart) != 1 || apart[0].Name != "far" || apart[0].Ratio != 2 {
		t.Errorf("measurements %+v", apart)
	}
	if len(differ) != 2 || differ[0].Path != "frequency.policies[].governor" || *differ[0].Gain != 0.3 ||
		differ[0].Command != "hostlab run live-governor --set workload.service=PostgreSQL" || differ[1].B != "denied" {
		t.Errorf("facts %+v", differ)
	}
}

// A host of which nothing was heard is not counted as one without findings, nor its levers.
func TestStatusOfTheUnknown(t *testing.T) {
	hosts := []*Host{
		{Name: "here", Last: now.Add(-time.Hour), Findings: []Held{{Check: "X-001", Severity: "high"},
			{Check: "X-001", Severity: "high", Role: "development"}},
			Levers: []Lever{{Lever: lever.Lever{Name: lever.Log, Verdict: lever.Worthwhile}, SecondsPerDay: ptr(600)}}},
		{Name: "gone", Last: now.Add(-9 * 24 * time.Hour), Findings: []Held{{Check: "X-001", Severity: "high"}},
			Levers: []Lever{{Lever: lever.Lever{Name: lever.Log, Verdict: lever.Worthwhile}, SecondsPerDay: ptr(600)}}},
	}
	s := Status(hosts, 5, now, 50*time.Hour)
	if len(s.Stale) != 1 || s.Stale[0].Name != "gone" || len(s.Findings) != 1 || s.Findings[0].Hosts != 1 ||
		len(s.Levers) != 1 || s.Levers[0].SecondsPerDay != 600 {
		t.Errorf("%+v", s)
	}
	const want = "here is worst off: its sessions may lose 10 min a day, added up (log device). Begin there. 2 hosts;"
	if got := s.Document().Answer[0].Text; !strings.HasPrefix(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// A number of CSV has its unit in the head of its column: its text, which says it to people, is not there.
func TestUnits(t *testing.T) {
	h := &Host{Name: "a", Last: now.Add(-time.Hour), Levers: []Lever{{Lever: lever.Lever{Name: lever.Log,
		Verdict: lever.Worthwhile}, SecondsPerDay: ptr(600)}}}
	gone := &Host{Name: "b", Last: now.Add(-99 * time.Hour)}
	for _, d := range []*document.Document{Status([]*Host{h, gone}, 2, now, 50*time.Hour).Document(),
		HostsDocument([]*Host{h, gone}, now, 50*time.Hour)} {
		for _, s := range d.Sections {
			for _, b := range s.Blocks {
				table, is := b.(*document.Table)
				if !is || table == nil {
					continue
				}
				for _, r := range table.Rows {
					for i, c := range r.Cells {
						if c.Sortable() && strings.ContainsAny(c.Text, " %") && table.Columns[i].Unit == "" {
							t.Errorf("%s, %s: %q has no unit in CSV", s.Title, table.Columns[i].Head, c.Text)
						}
					}
				}
			}
		}
	}
}

// After check alone, two hosts are compared by what was found, and the answer says what to send for the rest.
func TestDiffOfLittle(t *testing.T) {
	checked := func(name string, checks ...string) Seen {
		h := &Host{Name: name, Last: now, Role: check.Development}
		for _, c := range checks {
			h.Findings = append(h.Findings, Held{Check: c, Severity: "high"})
		}
		return Seen{Host: h}
	}
	assessed := checked("b")
	assessed.Facts = map[string]Value{"memory.ksm": {"0", "", "ok"}}
	for _, c := range []struct {
		a, b Seen
		want string
	}{
		{checked("a", "X-001"), checked("b"), `1 check finds something on one of a and b alone. The store has no facts of a or b: ` +
			`send what 'hostlab facts --format json' prints there.`},
		{checked("a"), assessed, `The checks find the same on a and b. The store has no facts of a: ` +
			`send what 'hostlab facts --format json' prints there.`},
		{assessed, assessed, `b and b differ in 0 settings. The store has no measurements of b or b: ` +
			`send what 'hostlab assess --format json' prints there.`},
	} {
		d, err := DiffDocument(c.a, c.b, now, time.Hour, nil)
		if err != nil || d.Answer[0].Text != c.want {
			t.Errorf("%v, got %s\nwant %s", err, d.Answer[0].Text, c.want)
		}
	}
	unseen := checked("a")
	unseen.Role = ""
	testkit.Has(t, testkit.Must(DiffDocument(unseen, checked("b"), now, time.Hour, nil))(t).Answer[0].Text,
		"no results of checks of both")
	hosts := HostsDocument([]*Host{unseen.Host}, now, time.Hour).FirstTable()
	testkit.Is(t, "not measured", hosts.Rows[0].Cells[5].Text, "a host that sent checks alone")
	lossy := checked("a")
	lossy.Levers = []Lever{{Lever: lever.Lever{Name: lever.Log, Verdict: lever.Worthwhile}, SecondsPerDay: ptr(7200)}}
	d := testkit.Must(DiffDocument(lossy, assessed, now, time.Hour, nil))(t)
	testkit.Has(t, d.Answer[0].Text, "Log device: on a worthwhile, may save 2 h a day; on b not known. ")
	testkit.Is(t, "What the services could gain", d.Sections[0].Title)
	testkit.Is(t, 1, len(d.FirstTable().Rows), "rows as CSV")
	clone := checked("b")
	clone.Machine = "m"
	if d, err := DiffDocument(clone, clone, now, time.Hour, nil); err != nil || len(d.Warnings) != 1 {
		t.Errorf("%v, a machine with two names: %q", err, d.Warnings)
	}
}

// The fleet's answer begins with one host and why: time that was measured counts before findings, the worst of these
// before more of them, and a host that is not known any more is not named.
func TestWorst(t *testing.T) {
	host := func(name string, seconds float64, findings ...string) *Host {
		h := &Host{Name: name, Last: now}
		for i, severity := range findings {
			h.Findings = append(h.Findings, Held{Check: "X-00" + string(rune('1'+i)), Severity: severity},
				Held{Check: "X-00" + string(rune('1'+i)), Severity: severity, Role: "development"})
		}
		if seconds > 0 {
			h.Levers = []Lever{{Lever: lever.Lever{Name: lever.Log, Verdict: lever.Worthwhile}, SecondsPerDay: &seconds}}
		}
		return h
	}
	gone := host("gone", 9e5, "high")
	gone.Last = now.Add(-100 * time.Hour)
	for _, c := range []struct {
		hosts []*Host
		want  string
	}{
		{[]*Host{host("a", 600), host("b", 7200, "low"), host("c", 0, "high", "high"), gone},
			"b is worst off: its sessions may lose 2 h a day, added up (log device). Begin there. 4 hosts;"},
		{[]*Host{host("a", 600), host("b", 7200), host("c", 7203), host("d", 7201)},
			"b and 2 others are equally badly off. On b: its sessions may lose 2 h a day, added up (log device). Begin"},
		{[]*Host{host("a", 0, "medium", "medium", "medium"), host("b", 0, "low", "high"), host("c", 0, "high", "high"), gone},
			"c is worst off: 2 findings of high severity, first X-001 ("},
		{[]*Host{host("a", 0, "medium"), host("b", 0, "high", "low"), host("c", 0, "high")},
			"b is worst off: 1 finding of high severity, first X-001 ("},
		{[]*Host{host("a", 0, "medium"), host("b", 0, "high", "low"), host("c", 0, "high", "low")},
			"b and 1 other are equally badly off. On b: 1 finding of high severity, first X-001 ("},
		{[]*Host{host("a", 0, "medium"), host("b", 0, "low", "info")},
			"a is worst off: 1 finding of medium severity, first X-001 ("},
		{[]*Host{host("a", 0, "low"), host("b", 0), gone}, "3 hosts; gone has sent nothing for 4 days. Begin with X-001"},
		{[]*Host{gone}, "1 host; gone has sent nothing for 4 days."},
		{[]*Host{gone, gone}, "2 hosts; gone and 1 other have sent nothing for over 2 days."},
		{nil, "The store holds no document yet."},
	} {
		s := Status(c.hosts, 5, now, 50*time.Hour)
		got := s.Document().Answer[0].Text
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
		if n := strings.Count(got, "Begin"); n > 1 || s.Worst != nil && n != 1 {
			t.Errorf("%d first steps: %s", n, got)
		}
	}
	twin, other := host("a", 60), host("b", 7200)
	twin.Stratum, other.Stratum = "x, 8 CPUs", "x, 8 CPUs"
	for want, hosts := range map[string][]*Host{"hostlab fleet diff b a": {twin, other, host("c", 0)}, "": {host("c", 0), other}} {
		testkit.Is(t, want, Status(hosts, 5, now, 50*time.Hour).Worst.Type)
	}
}

// Readers get words for each kind of measurement that the probes have.
func TestWordsOfAllKinds(t *testing.T) {
	file := testkit.Must(parser.ParseFile(token.NewFileSet(), "../probe/kinds.go", nil, 0))(t)
	kinds := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || len(spec.Values) != 1 {
			return true
		}
		of, is := spec.Type.(*ast.SelectorExpr)
		if !is || of.Sel.Name != "Kind" {
			return true
		}
		kind := testkit.Must(strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value))(t)
		if kinds++; MeasurementWords(kind) == "" {
			t.Errorf("%s has no words", kind)
		}
		return true
	})
	if kinds < 20 {
		t.Errorf("%d kinds were found", kinds)
	}
}

func TestMeasurementWords(t *testing.T) {
	for name, want := range map[string]string{
		"wakeup.alu.10ms.cpu0":        "time of arithmetic after a pause, against awake, bursts of 10 ms, CPU 0",
		"wakeup.latency.p50.cpu3":     "median lateness of a wake-up, CPU 3",
		"siblings.slowdown.cpu0-cpu1": "slow-down of two busy CPUs by each other, CPU 0 and CPU 1",
		"commit.p50":                  "median commit to new blocks of the log device",
		"commit.overwritten.p99":      "99th percentile of commits to blocks written before",
		"commit.memory.mean":          "mean commit in memory",
		"degree.throughput.1":         "rate of a cached query, 1 worker",
		"degree.speedup.4":            "speed-up of a cached query, 4 workers",
		"commit.p75":                  "", "later.figure.cpu0": "", "": "",
	} {
		testkit.Is(t, want, MeasurementWords(name), name)
	}
}

// dayOf is what assess writes of a day of a ring.
func dayOf(day int, past string) []byte {
	from := time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC)
	return fmt.Appendf(nil, `{"kind": "assess", "schema": 4, "host": "db7", "started": %[1]q, "only_service": true, "facts": null, "results": [],
		"service": {"name": "PostgreSQL"}, "time": {"wall": 86400, "active": 200000, "parts": [{"name": "lock", "share": 0.6, "interval": [0.55, 0.66]},
			{"name": "log", "share": 0.1, "interval": [0.2, 0.3]}, {"name": "evil", "share": 1}]},
		"levers": [{"name": "log", "estimate": 0.1, "at_most": 0.2, "verdict": "worthwhile"}], "verdict": {"text": "v"},
		"past": {"from": %[1]q, "to": %[2]q, "transaction": 0.007, "working": 2.5, "worst_hour": {"from": %[1]q, "transaction": 0.01, "working": 4}, %[3]s}}`,
		from.Format(time.RFC3339), from.AddDate(0, 0, 1).Format(time.RFC3339), past)
}

// TestDay: a day of a ring says how long a transaction took, where the time went, and whether it is slower; and nothing of the host.
func TestDay(t *testing.T) {
	slower := `"rise_known": true, "rise": {"since": "2026-11-20T02:10:00Z", "ratio": 1.31, "noise": 0.02, "days": 9, "part": "lock"}`
	for past, want := range map[string]Finding{
		slower: {Status: check.Finding,
			Detail: "since 2026-11-20 02:10 UTC, a transaction takes 31 % longer than at this time on 9 days before; most of it is locks"},
		`"rise": null, "rise_known": true`:  {Status: check.OK, Detail: "a transaction takes no longer than at this time on other days"},
		`"rise": null, "rise_known": false`: {Status: check.Unknown, Detail: "too few days are known to compare with"},
	} {
		d := testkit.Must(Read(dayOf(20, past), "", now))(t)
		if d.Kind != Day || d.Role != "history:PostgreSQL" || d.Facts != nil || d.Started.Day() != 21 || len(d.Levers) != 1 || len(d.Findings) != 1 {
			t.Fatalf("%+v", d)
		}
		if f := d.Findings[0]; f.Check != "slower:PostgreSQL" || f.Status != want.Status || f.Detail != want.Detail || f.Severity != "medium" {
			t.Errorf("%+v", f)
		}
		values := map[string]float64{}
		for _, m := range d.Measured {
			values[m.Name] = *m.Value
			if has := m.Name == "day.part.lock.PostgreSQL"; has != (m.Low != nil) || has && (*m.Low != 0.55 || *m.High != 0.66) {
				t.Errorf("%+v", m)
			}
		}
		if len(values) != 5 || values["day.transaction.PostgreSQL"] != 0.007 || values["day.worst.PostgreSQL"] != 0.01 ||
			values["day.working.PostgreSQL"] != 2.5 || values["day.part.lock.PostgreSQL"] != 0.6 {
			t.Errorf("%v", values)
		}
	}
	if CheckTitle("slower:PostgreSQL") == CheckTitle("no such check") {
		t.Error("it has no title")
	}
}

// TestSlowed: a service that became slower is named with what changed on its host before, and no other host's.
func TestSlowed(t *testing.T) {
	at := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	list := []Change{{"db7", "slower:PostgreSQL", "ok", "finding", at}, {"db7", "memory.swappiness", "60", "1", at.Add(-3 * time.Hour)},
		{"db8", "kernel.release", "6.1", "6.12", at.Add(-time.Hour)}, {"db7", "kernel.release", "6.1", "6.12", at.AddDate(0, 0, -3)},
		{"db9", "slower:redis", "ok", "finding", at}, {"db9", "slower:x", "finding", "ok", at}}
	slowed := SlowedIn(list)
	if len(slowed) != 2 || len(slowed[0].With) != 1 || slowed[0].Service != "PostgreSQL" {
		t.Fatalf("%+v", slowed)
	}
	testkit.Is(t, "PostgreSQL on db7 became slower than on other days, says its document of 2026-11-21 06:00 UTC. "+
		"Changed there in the day before: memory.swappiness (60 to 1).", slowed[0].Text())
	if says := slowed[1].Text(); !strings.HasSuffix(says, "Nothing else is known to have changed there in the day before.") {
		t.Error(says)
	}
}

// TestStatusFitsAScreen: of many findings, levers and silent hosts a terminal shows as many as fit.
func TestStatusFitsAScreen(t *testing.T) {
	var hosts []*Host
	for i := range 60 {
		h := &Host{Name: fmt.Sprintf("db%03d", i), Last: now.Add(-time.Hour)}
		for k := range 25 {
			h.Findings = append(h.Findings, Held{Check: fmt.Sprintf("X-%03d", k), Severity: "low"})
		}
		for _, name := range lever.Names {
			h.Levers = append(h.Levers, Lever{Lever: lever.Lever{Name: name, Verdict: lever.Worthwhile}, SecondsPerDay: ptr(float64(600 + i))})
		}
		if i%2 == 0 {
			h.Last = now.Add(-99 * time.Hour)
		}
		hosts = append(hosts, h)
	}
	var b strings.Builder
	testkit.OK(t, document.WriteText(&b, Status(hosts, 5, now, 50*time.Hour).Document(), document.TextOptions{Rows: document.Rows}))
	if rows := document.Folded(b.String(), document.ScreenColumns); rows > document.ScreenLines || !strings.Contains(b.String(), "more rows") {
		t.Errorf("%d rows:\n%s", rows, b.String())
	}
}
