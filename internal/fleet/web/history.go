package web

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/fleet"
	"hostlab/internal/lever"
	"hostlab/internal/picture"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// remembered is how many of a host's newest assessments its history has; of findings, how many of its newest documents.
const remembered = 200

// measures are what a host's history shows of its probes. Of several CPUs the slowest counts.
var measures = []struct {
	title, axis string
	unit        string
	least       bool // the smallest of an assessment's values is the slowest
	kinds       []result.Kind
	names       []string
}{
	{"Commit latency", "time of one commit to a recycled log", "s", false,
		[]result.Kind{probe.Recycled.Of(probe.Median), probe.Recycled.Of(probe.Tail)}, []string{"p50", "p99"}},
	{"Clock of a busy CPU", "clock of the slowest CPU", "Hz", true, []result.Kind{probe.ClockBusy}, []string{"clock"}},
	{"Wake-up latency", "median wake-up latency, slowest CPU", "s", false, []result.Kind{probe.LateMedian},
		[]string{"p50"}},
	{"Speed-up of a query", "speed-up on the most CPUs", "ratio", false, []result.Kind{probe.SpeedUp},
		[]string{"speed-up"}},
}

// history draws what the store keeps of a host over time: findings, what levers could give, and what probes measured.
func (r *request) history(ctx context.Context, h *fleet.Host) (document.Section, error) {
	s := document.Titled("Over time")
	if !h.Last.After(h.First) {
		return s, nil
	}
	spans, err := r.Store.Spans(ctx, h.Name, remembered)
	if err != nil {
		return s, err
	}
	estimates, err := r.Store.Estimates(ctx, h.Name, remembered)
	if err != nil {
		return s, err
	}
	var kinds []string
	for _, m := range measures {
		for _, k := range m.kinds {
			kinds = append(kinds, string(k))
		}
	}
	kinds = append(kinds, fleet.DayTransaction, fleet.DayWorst)
	for _, name := range explain.PartNames {
		kinds = append(kinds, fleet.DayPart+string(name))
	}
	points, err := r.Store.Newest(ctx, h.Name, remembered, kinds)
	if err != nil {
		return s, err
	}
	s.Blocks = append(s.Blocks, drawn("findings", "Findings", "Those that the host itself or the fleet accepts count too.",
		&picture.Axis{Name: "findings"}, found(spans, h.Last)), drawn("estimates", "What levers could give",
		"Estimates of assessments. A lever that never could give 1 % is left out.",
		&picture.Axis{Name: "share of active time", Unit: picture.Share}, leverCourses(estimates)))
	s.Blocks = append(s.Blocks, days(points)...)
	for i, m := range measures {
		var all []picture.Course
		for k, kind := range m.kinds {
			if c := measured(points, string(kind), m.least); len(c.X) > 0 {
				c.Name = m.names[k]
				all = append(all, c)
			}
		}
		s.Blocks = append(s.Blocks, drawn(fmt.Sprint("measured", i), m.title, "Bars are 95 % intervals.",
			&picture.Axis{Name: m.axis, Unit: m.unit}, all))
	}
	return s, nil
}

// days draw what times of rings say of services: how long a transaction took in all of each and in its worst hour, and
// where the time went.
func days(points []fleet.Point) (out []document.Block) {
	each, parts := map[string]*picture.Course{}, map[string]map[string]*picture.Course{}
	add := func(to map[string]*picture.Course, name string, p *fleet.Point) {
		if to[name] == nil {
			to[name] = &picture.Course{Name: name}
		}
		low, high := interval(p)
		c := to[name]
		c.X, c.Y, c.Low, c.High = append(c.X, unix(p.At)), append(c.Y, *p.Value), append(c.Low, low), append(c.High, high)
	}
	for i := range points {
		p := &points[i]
		if p.Value == nil {
			continue
		}
		if service, is := strings.CutPrefix(p.Name, fleet.DayTransaction+"."); is {
			add(each, service, p)
		} else if service, is := strings.CutPrefix(p.Name, fleet.DayWorst+"."); is {
			add(each, service+", worst hour", p)
		} else if rest, is := strings.CutPrefix(p.Name, fleet.DayPart); is {
			part, service, _ := strings.Cut(rest, ".")
			if parts[service] == nil {
				parts[service] = map[string]*picture.Course{}
			}
			add(parts[service], explain.PartName(part).Title(), p)
		}
	}
	courses := func(of map[string]*picture.Course) (list []picture.Course) {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			list = append(list, *of[name])
		}
		return list
	}
	out = append(out, drawn("transaction", "Time of a transaction", "By the histories of services that the host sent.",
		&picture.Axis{Name: "active time of a transaction", Unit: "s"}, courses(each)))
	for _, service := range slices.Sorted(maps.Keys(parts)) {
		out = append(out, drawn("parts-"+strconv.Itoa(len(out)), "Where the time of "+service+" went",
			"By the histories that the host sent. Bars are 95 % intervals, by how the accounts of ten seconds differ.",
			&picture.Axis{Name: "share of active time", Unit: picture.Share}, courses(parts[service])))
	}
	return out
}

// drawn is a picture of courses over days, from 0 on. One moment alone is no course.
func drawn(id, title, note string, y *picture.Axis, all []picture.Course) document.Block {
	from, to := math.Inf(1), math.Inf(-1)
	moments := map[float64][]string{}
	for k, c := range all {
		for i, x := range c.X {
			from, to, y.Hi = min(from, x), max(to, x), max(y.Hi, c.Y[i])
			if c.High != nil && !math.IsNaN(c.High[i]) {
				y.Hi = max(y.Hi, c.High[i])
			}
			if moments[x] == nil {
				moments[x] = make([]string, len(all))
			}
			moments[x][k] = inWords(c.Y[i], y.Unit)
			if c.Low != nil && !math.IsNaN(c.Low[i]) {
				moments[x][k] += fmt.Sprintf(" [%s, %s]", inWords(c.Low[i], y.Unit), inWords(c.High[i], y.Unit))
			}
		}
	}
	if !(to > from) || !(y.Hi > 0) {
		return document.Figure{}
	}
	y.Hi *= 1.08
	if y.Unit == "" { // a count
		y.Ticks = slices.DeleteFunc(picture.Ticks(0, y.Hi), func(v float64) bool { return v != math.Trunc(v) })
	}
	t := &picture.Table{Caption: title + " over time", Head: []string{"when (UTC)"}}
	var says []string
	for _, c := range all {
		t.Head = append(t.Head, c.Name)
		says = append(says, fmt.Sprintf("%s: %s at first, %s at last", c.Name, inWords(c.Y[0], y.Unit),
			inWords(c.Y[len(c.Y)-1], y.Unit)))
	}
	for x, cells := range moments {
		t.Rows = append(t.Rows, append([]string{time.Unix(int64(x), 0).UTC().Format(minutes)}, cells...))
	}
	slices.SortFunc(t.Rows, func(a, b []string) int { return strings.Compare(b[0], a[0]) })
	t.Rows = t.Rows[:min(len(t.Rows), timeline)]
	return document.Figure{Figure: picture.Figure{Title: title, Note: note, Table: t,
		SVG: picture.Courses("over-"+id, title+" over time", strings.Join(says, "; "),
			&picture.Axis{Name: "day (UTC)", Unit: picture.Date, Lo: from, Hi: to}, y, nil, all)}}
}

func inWords(v float64, unit string) string {
	switch unit {
	case "":
		return strconv.FormatFloat(v, 'f', -1, 64)
	case picture.Share:
		return result.Share(v)
	}
	return result.Format(v, unit)
}

// unix is a moment on an axis of dates.
func unix(t time.Time) float64 { return float64(t.Unix()) }

// found counts findings by severity at each moment at which their number changed, and at last.
func found(spans []fleet.Span, last time.Time) (out []picture.Course) {
	type edge struct {
		at    time.Time
		of    fleet.Span
		grows int
	}
	edges := []edge{{at: last}}
	for _, s := range spans {
		for _, e := range []edge{{s.Since, s, 1}, {s.Until, s, -1}} {
			if !e.at.After(last) {
				edges = append(edges, e)
			}
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return a.at.Compare(b.at) })
	open, checks := map[fleet.Span]int{}, map[string]int{} // checks: with a finding, by severity
	courses := map[string]*picture.Course{}
	for _, severity := range check.Severities {
		courses[severity] = &picture.Course{Name: severity, Step: true}
	}
	for i, e := range edges {
		of := fleet.Span{Check: e.of.Check, Severity: e.of.Severity}
		was := open[of]
		open[of] = was + e.grows
		checks[of.Severity] += min(open[of], 1) - min(was, 1) // in several roles it is one
		if i+1 < len(edges) && edges[i+1].at.Equal(e.at) {
			continue
		}
		for severity, c := range courses {
			c.X, c.Y = append(c.X, unix(e.at)), append(c.Y, float64(checks[severity]))
		}
	}
	for _, severity := range slices.Backward(check.Severities) {
		if c := courses[severity]; slices.Max(c.Y) > 0 {
			out = append(out, *c)
		}
	}
	return out
}

// leverCourses are those of the levers that could once give most.
func leverCourses(points []fleet.Point) (out []picture.Course) {
	most, by := map[string]float64{}, map[string]*picture.Course{}
	for _, p := range points {
		c := by[p.Name]
		if c == nil {
			c = &picture.Course{Name: lever.Title(p.Name)}
			by[p.Name] = c
		}
		c.X, c.Y = append(c.X, unix(p.At)), append(c.Y, *p.Value)
		most[p.Name] = max(most[p.Name], *p.Value)
	}
	for name, c := range by {
		if most[name] >= 0.01 {
			out = append(out, *c)
		}
	}
	slices.SortFunc(out, func(a, b picture.Course) int {
		return cmp.Or(cmp.Compare(slices.Max(b.Y), slices.Max(a.Y)), strings.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), 5)]
}

// interval is that of a point; NaN: it has none.
func interval(p *fleet.Point) (low, high float64) {
	if p.Low == nil || p.High == nil {
		return math.NaN(), math.NaN()
	}
	return *p.Low, *p.High
}

// measured is the course of a kind: of each assessment the slowest value.
func measured(points []fleet.Point, kind string, least bool) (c picture.Course) {
	hash := ""
	for _, p := range points {
		if p.Value == nil || p.Name != kind && !strings.HasPrefix(p.Name, kind+".") {
			continue
		}
		low, high := interval(&p)
		if n := len(c.X) - 1; p.Hash == hash {
			if *p.Value < c.Y[n] == least {
				c.Y[n], c.Low[n], c.High[n] = *p.Value, low, high
			}
			continue
		}
		hash = p.Hash
		c.X, c.Y, c.Low, c.High = append(c.X, unix(p.At)), append(c.Y, *p.Value), append(c.Low, low), append(c.High, high)
	}
	return c
}
