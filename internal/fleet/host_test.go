package fleet

import (
	"strings"
	"testing"
	"time"

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
	const want = "here is worst off: sessions together likely lose 10 min a day (log device). Begin there. 2 hosts;"
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
		h := &Host{Name: name, Last: now}
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
		{checked("a"), assessed, `0 checks find something on one of a and b alone. The store has no facts of a: ` +
			`send what 'hostlab facts --format json' prints there.`},
		{assessed, assessed, `b and b differ in 0 settings. The store has no measurements of b or b: ` +
			`send what 'hostlab assess --format json' prints there.`},
	} {
		d, err := DiffDocument(c.a, c.b, now, time.Hour, nil)
		if err != nil || d.Answer[0].Text != c.want {
			t.Errorf("%v, got %s\nwant %s", err, d.Answer[0].Text, c.want)
		}
	}
	lossy := checked("a")
	lossy.Levers = []Lever{{Lever: lever.Lever{Name: lever.Log, Verdict: lever.Worthwhile}, SecondsPerDay: ptr(7200)}}
	d := testkit.Must(DiffDocument(lossy, assessed, now, time.Hour, nil))(t)
	testkit.Has(t, d.Answer[0].Text, "Log device: worthwhile, likely saves 2 h a day on a, not known on b. ")
	testkit.Is(t, "What the services could gain", d.Sections[0].Title)
	testkit.Is(t, 1, len(d.FirstTable().Rows), "rows as CSV")
	clone := checked("b")
	clone.Machine = "m"
	if d, err := DiffDocument(clone, clone, now, time.Hour, nil); err != nil || len(d.Warnings) != 1 {
		t.Errorf("%v, a machine with two names: %q", err, d.Warnings)
	}
}
