package web

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/fleet"
	"hostlab/internal/picture"
	"hostlab/internal/testkit"
)

// A host's page draws what the store keeps of each of its assessments, where it was, and says it in a table.
func TestHistory(t *testing.T) {
	s := opened(t)
	web := serving(t, Config{Store: s})
	points := testkit.Must(s.Points(t.Context(), "db001"))(t)
	var moments []string
	for _, p := range points {
		if p.Name == "commit.overwritten.p50" {
			moments = append(moments, p.At.UTC().Format(minutes))
		}
	}
	if len(moments) < 5 || !slices.IsSorted(moments) {
		t.Fatalf("assessments at %q", moments)
	}
	_, page := get(t, web.URL+"/hosts/db001")
	_, figure, _ := strings.Cut(page, "<h3>Commit latency</h3>")
	figure, _, _ = strings.Cut(figure, "</figure>")
	for _, m := range moments {
		testkit.Has(t, figure, `<th scope="row">`+m+"</th>", m)
	}
	for series := range 2 {
		path := regexp.MustCompile(fmt.Sprintf(`<path d="([^"]+)" class="trace k%d"/>`, series)).FindStringSubmatch(figure)
		if path == nil || strings.Count(path[1], "L") != len(moments)-1 {
			t.Errorf("line %d joins not %d points: %v", series, len(moments), path)
		}
	}
	if _, page := get(t, web.URL+"/hosts/silent"); strings.Contains(page, "Over time") {
		t.Error("one document is no history")
	}
}

func TestFoundOverTime(t *testing.T) {
	day := func(n int) time.Time { return time.Unix(int64(n)*86400, 0) }
	always := time.Unix(0, 9223372036854775807)
	got := found([]fleet.Span{{Check: "A", Severity: "high", Since: day(1), Until: day(3)},
		{Check: "A", Severity: "high", Since: day(2), Until: day(3)},
		{Check: "B", Severity: "high", Since: day(2), Until: always},
		{Check: "C", Severity: "info", Since: day(4), Until: always}}, day(6))
	const want = "high [86400 172800 259200 345600 518400] [1 2 1 1 1]; " +
		"info [86400 172800 259200 345600 518400] [0 0 0 1 1]; "
	text := ""
	for _, c := range got {
		text += fmt.Sprint(c.Name, " ", c.X, " ", c.Y, "; ")
	}
	testkit.Is(t, want, text)
}

// A host whose checks toggle has a course with each of their edges.
func TestFoundOfATogglingHost(t *testing.T) {
	const n = 100_000
	spans := make([]fleet.Span, n)
	for i := range spans {
		at := time.Unix(int64(2*i+1), 0)
		spans[i] = fleet.Span{Check: fmt.Sprint("A", i%2), Severity: "low", Since: at, Until: at.Add(time.Second)}
	}
	got := found(spans, time.Unix(3*n, 0))
	if len(got) != 1 || len(got[0].X) != 2*n+1 || got[0].Y[n] != 1 || got[0].Y[2*n-1] != 0 || slices.Max(got[0].Y) != 1 {
		t.Errorf("%d courses", len(got))
	}
}

// Of several CPUs the slowest counts, with its own interval; what has no interval or no value is not 0.
func TestMeasuredOverTime(t *testing.T) {
	point := func(day int64, hash, name string, value, high float64) fleet.Point {
		p := fleet.Point{At: time.Unix(day, 0), Hash: hash, Measurement: fleet.Measurement{Name: name}}
		if value > 0 {
			p.Value = &value
		}
		if high > 0 {
			p.Low, p.High = &value, &high
		}
		return p
	}
	all := []fleet.Point{point(1, "a", "x.cpu0", 5, 6), point(1, "a", "x.cpu1", 4, 9), point(1, "a", "xy", 1, 1),
		point(2, "b", "x.cpu0", 3, 0), point(2, "b", "x.cpu1", 7, 8), point(3, "c", "x", 0, 0)}
	for least, want := range map[bool]string{true: "[1 2] [4 3] [9 NaN]", false: "[1 2] [5 7] [6 8]"} {
		c := measured(all, "x", least)
		testkit.Is(t, want, fmt.Sprint(c.X, c.Y, c.High), least)
	}
	one := []picture.Course{{Name: "x", X: []float64{1}, Y: []float64{1}}}
	if f := fmt.Sprint(drawn("x", "x", "", &picture.Axis{}, one)); strings.Contains(f, "<svg") {
		t.Error("one moment is drawn")
	}
}

// Days of a service's ring are drawn on its host's page, and a service that became slower is named with what changed on its host.
func TestDays(t *testing.T) {
	s := opened(t)
	var docs []*fleet.Document
	put := func(text string) {
		docs = append(docs, testkit.Must(fleet.Read([]byte(text), "db001", now))(t))
	}
	for day := range 5 {
		at, rise := now.Add(time.Duration(day-5)*24*time.Hour), "null"
		if day == 4 {
			rise = `{"since": "2026-11-20T02:10:00Z", "ratio": 1.31, "noise": 0.02, "days": 9, "part": "lock"}`
		}
		put(fmt.Sprintf(`{"kind": "assess", "schema": 4, "host": "db001", "started": %[1]q, "service": {"name": "PostgreSQL"},
			"time": {"wall": 86400, "active": 200000, "parts": [{"name": "lock", "share": 0.%[3]d, "interval": [0.1, 0.65]}]}, "verdict": {"text": "v"},
			"past": {"from": %[1]q, "to": %[2]q, "transaction": 0.00%[3]d, "working": 2.5, "worst_hour": {"from": %[1]q, "transaction": 0.01},
			"rise_known": true, "rise": %[4]s}}`, at.Format(time.RFC3339), at.Add(24*time.Hour).Format(time.RFC3339), 2+day, rise))
	}
	for i, value := range []string{"60", "1"} {
		put(fmt.Sprintf(`{"kind": "facts", "schema": 1, "started": %q, "host": "db001", "memory": {"swap_tendency": {"value": %s, "state": "ok"}}}`,
			now.Add(time.Duration(i-5)*time.Hour).Format(time.RFC3339), value))
	}
	if n := testkit.Must(s.Put(t.Context(), docs, "test", now))(t); n != len(docs) {
		t.Fatalf("%d documents", n)
	}
	web := serving(t, Config{Store: s})
	_, page := get(t, web.URL+"/hosts/db001")
	for _, want := range []string{"<h3>Time of a transaction</h3>", "PostgreSQL, worst hour", "<h3>Where the time of PostgreSQL went</h3>",
		"slower:PostgreSQL", "A service takes longer than on other days", "most of it is locks", "2.00 ms at first, 6.00 ms at last", "60 % at last", "60 % [10 %, 65 %]"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q on the host's page", want)
		}
	}
	_, page = get(t, web.URL+"/changes?since=7d")
	for _, want := range []string{"PostgreSQL on db001 became slower than on other days", "memory.swap_tendency (60 to 1)"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q among the changes", want)
		}
	}
}
