package fleet

import (
	"strings"
	"testing"
	"time"

	"hostlab/internal/lever"
	"hostlab/internal/testkit"
)

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
			"b is worst off: sessions together likely lose 2 h a day (log device). Begin there. 4 hosts;"},
		{[]*Host{host("a", 600), host("b", 7200), host("c", 7203), host("d", 7201)},
			"b and 2 others are equally badly off. On b: sessions together likely lose 2 h a day (log device). Begin"},
		{[]*Host{host("a", 0, "medium", "medium", "medium"), host("b", 0, "low", "high"), host("c", 0, "high", "high"), gone},
			"c is worst off: 2 findings of high severity, first X-001 ("},
		{[]*Host{host("a", 0, "medium"), host("b", 0, "high", "low"), host("c", 0, "high")},
			"b and 1 other are equally badly off. On b: 1 finding of high severity, first X-001 ("},
		{[]*Host{host("a", 0, "medium"), host("b", 0, "low", "info")},
			"a is worst off: 1 finding of medium severity, first X-001 ("},
		{[]*Host{host("a", 0, "low"), host("b", 0), gone}, "3 hosts; the state of 1 is unknown. Begin with X-001"},
		{[]*Host{gone}, "1 host; the state of 1 is unknown."},
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
