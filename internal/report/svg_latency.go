package report

import (
	"cmp"
	"html/template"
	"math"
	"strings"

	"hostlab/internal/lever"
	"hostlab/internal/picture"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// latencyPicture draws the distribution of commit times on a logarithmic axis,
// one panel for each device, with marks at p50 and p99. Empty without data.
func latencyPicture(dists []result.Distribution, all []result.Measurement) template.HTML {
	var drawn []result.Distribution
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, d := range dists {
		a, b, ok := picture.Extent(d)
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
	s := &svg{picture.SVG{ID: "latency", W: 480}}
	s.H = top + float64(len(drawn))*(panel+gap) + 26
	bottom := top + float64(len(drawn))*(panel+gap) - gap
	x := s.AxisLog(lo, hi, left, s.W-right, top, bottom, 36, "s")
	s.Text(s.W/2, s.H-4, "middle", "axis", "time of one commit, logarithmic")
	var says []string
	for i, d := range drawn {
		base := top + float64(i)*(panel+gap) + panel
		s.Histogram(d, i, x, base, panel-22)
		s.Line(left, base, s.W-right, base, "base")
		s.Text(left, base-panel+2, "start", "name", cmp.Or(d.Title, d.Name))
		says = append(says, s.marks(probe.CommitFile(d.Name), all, x, base, panel-22)...)
	}
	return s.Done("Commit latency", "Distribution of single commits. "+strings.Join(says, "; "))
}

// marks draws p50 and p99 of a distribution, with their values below the axis.
func (s *svg) marks(file probe.CommitFile, all []result.Measurement, x func(float64) float64, base, height float64) []string {
	var says []string
	room := s.W // where the label of p50, which ends at its mark, has to end
	for _, q := range []probe.Stat{probe.Tail, probe.Median} {
		for i := range all {
			m := &all[i]
			if m.Kind != file.Of(q) || !drawable(m) {
				continue
			}
			at := x(m.Estimate.Value)
			s.Line(at, base-height, at, base+4, "mark")
			text := string(q) + " " + result.Format(m.Estimate.Value, m.Unit)
			wide := 8 * float64(len(text))
			if q == probe.Median {
				s.Text(max(wide, min(at+3, room)), base+17, "end", "note", text)
			} else {
				start := min(at-3, s.W-wide)
				s.Text(start, base+17, "start", "note", text)
				room = start - 8
			}
			says = append([]string{cmp.Or(m.Title, m.Name) + " " + lever.Figure(m)}, says...)
		}
	}
	return says
}
