package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"hostlab/internal/lever"
	"hostlab/internal/result"
)

// latencyPicture draws the distribution of commit times on a logarithmic axis,
// one panel for each device, with marks at p50 and p99. Empty without data.
func latencyPicture(dists []result.Distribution, all []result.Measurement) template.HTML {
	var drawn []result.Distribution
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, d := range dists {
		a, b, ok := extent(d)
		if !ok {
			continue
		}
		drawn = append(drawn, d)
		lo, hi = min(lo, a), max(hi, b)
	}
	if len(drawn) == 0 {
		return ""
	}
	const left, right, panel, gap, top = 12.0, 12.0, 96.0, 40.0, 30.0
	s := &svg{id: "latency", w: 480}
	s.h = top + float64(len(drawn))*(panel+gap) + 26
	l0, l1 := math.Log10(lo), math.Log10(hi)
	if l1-l0 < 0.5 {
		l0, l1 = l0-0.25, l1+0.25
	}
	x := func(v float64) float64 {
		return left + (min(max(math.Log10(v), l0), l1)-l0)/(l1-l0)*(s.w-left-right)
	}
	bottom := top + float64(len(drawn))*(panel+gap) - gap
	for e := math.Ceil(l0); e <= l1; e++ {
		v := math.Pow(10, e)
		s.line(x(v), top, x(v), bottom, "grid")
		s.text(x(v), bottom+36, anchorAt(x(v), s.w), "tick", round(v, "s"))
	}
	s.text(s.w/2, s.h-4, "middle", "axis", "time of one commit, logarithmic")
	var says []string
	for i, d := range drawn {
		base := top + float64(i)*(panel+gap) + panel
		s.histogram(d, i, x, base, panel-22)
		s.line(left, base, s.w-right, base, "base")
		s.text(left, base-panel+2, "start", "name", dist(d))
		says = append(says, s.marks(d.Name, all, x, base, panel-22)...)
	}
	return s.done("Commit latency", "Distribution of single commits. "+strings.Join(says, "; "))
}

func dist(d result.Distribution) string {
	if d.Title != "" {
		return d.Title
	}
	return d.Name
}

// marks draws p50 and p99 of a distribution, with their values below the axis. The
// measurements are named after it, as commit.memory.p50 is after commit.memory.
func (s *svg) marks(name string, all []result.Measurement, x func(float64) float64, base, height float64) []string {
	var says []string
	room := s.w // where the label of p50, which ends at its mark, has to end
	for _, q := range []string{"p99", "p50"} {
		for i := range all {
			m := &all[i]
			if m.Name != name+"."+q || !drawable(m) {
				continue
			}
			at := x(m.Estimate.Value)
			s.line(at, base-height, at, base+4, "mark")
			text := q + " " + result.Format(m.Estimate.Value, m.Unit)
			wide := 8 * float64(len(text))
			if q == "p50" {
				s.text(max(wide, min(at+3, room)), base+17, "end", "note", text)
			} else {
				start := min(at-3, s.w-wide)
				s.text(start, base+17, "start", "note", text)
				room = start - 8
			}
			says = append([]string{label(m) + " " + lever.Figure(m)}, says...)
		}
	}
	return says
}

// histogram draws shares per unit of log time, as steps scaled to the tallest.
func (s *svg) histogram(d result.Distribution, series int, x func(float64) float64, base, height float64) {
	type bin struct{ a, b, y float64 }
	var bins []bin
	top := 0.0
	for i, n := range d.Count {
		if i >= len(d.Edge) || d.Edge[i] <= 0 {
			continue
		}
		a := d.Edge[i] / 1.12
		if i > 0 && d.Edge[i-1] > 0 {
			a = d.Edge[i-1]
		}
		y := float64(n) / math.Log10(d.Edge[i]/a)
		bins, top = append(bins, bin{a, d.Edge[i], y}), max(top, y)
	}
	first, last := -1, -1
	for i, b := range bins {
		if b.y > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return
	}
	points := [][2]float64{{x(bins[first].a), base}}
	for _, b := range bins[first : last+1] {
		y := base - b.y/top*height
		if b.y > 0 {
			y = min(y, base-1.2) // a single slow commit is worth seeing
		}
		points = append(points, [2]float64{x(b.a), y}, [2]float64{x(b.b), y})
	}
	points = append(points, [2]float64{x(bins[last].b), base})
	s.path(points, fmt.Sprintf("area a%d", series), true)
}

// extent is the range in which a distribution has counts.
func extent(d result.Distribution) (lo, hi float64, ok bool) {
	for i, n := range d.Count {
		if n == 0 || i >= len(d.Edge) || d.Edge[i] <= 0 {
			continue
		}
		if !ok {
			lo = d.Edge[i] / 1.12
			if i > 0 && d.Edge[i-1] > 0 {
				lo = d.Edge[i-1]
			}
		}
		hi, ok = d.Edge[i], true
	}
	return lo, hi, ok
}

// anchorAt keeps a centred label inside the picture.
func anchorAt(x, w float64) string {
	switch {
	case x < 24:
		return "start"
	case x > w-24:
		return "end"
	default:
		return "middle"
	}
}
