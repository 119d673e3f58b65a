package effects

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/picture"
	"hostlab/internal/result"
)

// noDifference is what the intervals of middles and means allow to be said: stalls that none of the
// runs had are in neither.
const noDifference = "no practical difference to a typical run"

// verdictWords are the verdicts as people read them.
var verdictWords = map[analysis.Verdict]string{
	analysis.CostsMore: "costs more", analysis.CostsLess: "costs less", analysis.NoEffect: noDifference,
	analysis.Unresolved: "unresolved", analysis.Inconclusive: "inconclusive",
}

// risen are those of a response such as a rate, of which more is better: what costs
// more has less of it.
var risen = map[analysis.Verdict]string{analysis.CostsMore: "lower", analysis.CostsLess: "higher"}

func verdictWord(e *analysis.Effect) string {
	if w, ok := risen[e.Verdict]; ok && e.Response.Better == "higher" {
		return w
	}
	if w, ok := verdictWords[e.Verdict]; ok {
		return w
	}
	return string(e.Verdict)
}

// against names the other side: "against performance".
func against(x *result.Experiment, e *analysis.Effect) string {
	return "against " + strings.Join(baselines(x, &e.Contrast), " x ")
}

// label is a response's title, or its name.
func label(r *result.Response) string {
	if r.Title != "" {
		return r.Title
	}
	return r.Name
}

// amount prints an effect with its sign: "+48.2 %", or "-1.20 ms" for differences.
func amount(v float64, r *result.Response) string {
	switch {
	case math.IsNaN(v):
		return "unknown"
	case r.Compare == result.Difference:
		return signed(result.Format(v, r.Unit))
	}
	return number(v) + " %"
}

// number is a fraction in percent with its sign, and as many digits as tell.
func number(v float64) string {
	digits, p := 1, 100*v
	switch a := math.Abs(p); {
	case a >= 100:
		digits = 0
	case a < 0.995:
		digits = 2
	}
	s := strconv.FormatFloat(p, 'f', digits, 64)
	switch {
	case strings.Trim(s, "-0.") != "":
	case math.Abs(p) < 1e-4:
		return "0.0"
	default: // what is not 0 does not look so
		s = strconv.FormatFloat(p, 'f', 1-int(math.Floor(math.Log10(math.Abs(p)))), 64)
	}
	return signed(s)
}

func signed(s string) string {
	if strings.HasPrefix(s, "-") || s == "0" || strings.HasPrefix(s, "0 ") || s == "unknown" {
		return s
	}
	return "+" + s
}

// span prints an interval: "+47.1 to +49.3 %".
func span(low, high float64, r *result.Response) string {
	return between(result.Estimate{Low: low, High: high}, func(v float64) string { return amount(v, r) })
}

// between prints an interval, with the unit once.
func between(e result.Estimate, text func(float64) string) string {
	if !e.HasInterval() {
		return "no interval"
	}
	low, high := text(e.Low), text(e.High)
	if n, unit, ok := strings.Cut(low, " "); ok && strings.HasSuffix(high, " "+unit) {
		low = n
	}
	return low + " to " + high
}

// percentOf prints a share: "20.0 %".
func percentOf(v float64) string {
	if math.IsNaN(v) {
		return "unknown"
	}
	return strings.TrimPrefix(number(v), "+") + " %"
}

// within prints a margin or a floor: "±2 %".
func within(v float64, r *result.Response) string {
	switch {
	case math.IsNaN(v):
		return "unknown"
	case r.Compare == result.Difference:
		return "±" + picture.Round(v, r.Unit)
	}
	p := 100 * v
	switch {
	case p == math.Trunc(p), p >= 10:
		return "±" + strconv.FormatFloat(p, 'f', 0, 64) + " %"
	case p < 0.095:
		return "±" + strconv.FormatFloat(p, 'g', 2, 64) + " %"
	}
	return "±" + strconv.FormatFloat(math.Round(p*100)/100, 'g', 2, 64) + " %"
}

// confidence prints 1-alpha: "95 %", "99.82 %".
func confidence(alpha float64) string {
	if !(alpha > 0 && alpha < 1) {
		return "unknown"
	}
	return strconv.FormatFloat(100*(1-alpha), 'g', 4, 64) + " %"
}

// joint is the confidence that an effect's interval is printed with: primary ones
// hold together, at all looks, at the study's alpha.
func joint(x *result.Experiment, e *analysis.Effect) string {
	if e.Primary() && x.Design.Alpha > 0 {
		return confidence(x.Design.Alpha)
	}
	return confidence(e.Alpha)
}

// sample prints n with what it counts: "n = 10 blocks".
func sample(e *analysis.Effect) string {
	unit := cmp.Or(e.Unit, "blocks")
	if e.N == 1 {
		unit = strings.TrimSuffix(unit, "s")
	}
	return fmt.Sprintf("n = %d %s", e.N, unit)
}

// outside reports whether the mean is outside the interval of the estimate: rare stalls
// move it.
func outside(e *analysis.Effect) bool {
	return !math.IsNaN(e.Mean.Value) && e.HasInterval() && !e.Contains(e.Mean.Value)
}

// effectName names an effect in full: "wall: level 6 against 1".
func effectName(x *result.Experiment, e *analysis.Effect) string {
	s := label(&e.Response) + ": " + e.Contrast.String()
	if interaction(e) {
		return s
	}
	return s + " " + against(x, e)
}

// known reports whether values have a place on an axis.
func known(vs ...float64) bool {
	return !slices.ContainsFunc(vs, func(v float64) bool { return math.IsNaN(v) || math.Abs(v) > 1e15 })
}

// partPrefix begins the names of responses that are parts of a run's time.
const partPrefix = "part_"

// segment is a part of a run's time in a bar.
func segment(p *result.Response, seconds float64) document.Segment {
	name := explain.PartName(strings.TrimPrefix(p.Name, partPrefix))
	return document.Segment{Class: name.Class(), Name: strings.TrimPrefix(label(p), "Part of the elapsed time: "),
		Value: seconds,
		Text:  result.Format(seconds, "s")}
}

// time has a bar for each combination of levels: the parts of a run's time. A section of the
// study's own may say more of them.
func (r *Report) time() document.Section {
	x, runs := r.head(), r.Analysis.Counted()
	var parts []*result.Response
	for i := range x.Responses {
		if p := &x.Responses[i]; strings.HasPrefix(p.Name, partPrefix) && p.Unit == "s" {
			parts = append(parts, p)
		}
	}
	s := document.Section{Title: "What the time went to"}
	if len(parts) == 0 || x.Section == "log" {
		return s
	}
	b := &document.Bars{Lead: "Means of the runs that count.",
		Table: &document.Table{Columns: []document.Column{{Head: "run"}}}}
	for _, p := range parts {
		b.Table.Columns = append(b.Table.Columns, document.Column{Head: segment(p, 0).Name, Right: true})
	}
	for i := range x.Cells {
		bar := document.Bar{Name: cellName(x, &x.Cells[i])}
		row := []document.Cell{document.Text(bar.Name)}
		for _, p := range parts {
			var all []float64
			for _, run := range runs {
				if v, ok := run.Values[p.Name]; ok && run.Cell == i {
					all = append(all, v)
				}
			}
			if len(all) == 0 {
				row = append(row, document.Text("unknown"))
				continue
			}
			g := segment(p, stat.Mean(all, nil))
			bar.Segments, row = append(bar.Segments, g), append(row, document.Number(g.Value, g.Text))
		}
		b.Rows = append(b.Rows, bar)
		b.Table.Add(row...)
	}
	s.Blocks = append(s.Blocks, b)
	return s
}
