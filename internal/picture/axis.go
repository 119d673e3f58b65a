package picture

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/result"
)

// Width is that of a picture: a phone shows it in 306 pixels, so that its text is 11 pixels high there. A wide one
// scrolls in its figure.
const (
	Width = 340.0
	Wide  = 960.0
)

// Units of an axis beside those of results.
const (
	Span  = "span"  // seconds since a moment, in minutes, hours or days
	Date  = "date"  // seconds since 1970, UTC
	Share = "share" // of 1, in %
	Gain  = "gain"  // a share with its sign
)

// Axis is one of a picture.
type Axis struct {
	Name   string // what it measures
	Unit   string // of its values
	Lo, Hi float64
	Log    bool
	Ticks  []float64 // nil: round numbers
	// Text names a tick; nil: its number, in a step of the unit that stands behind the axis' name.
	Text func(float64) string
}

// Around is an axis that keeps values in sight, with some air.
func Around(name, unit string, values ...float64) *Axis {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if !apart(lo, hi) {
		d := math.Max(math.Abs(lo)*0.05, 1e-12)
		lo, hi = lo-d, hi+d
	}
	air := (hi - lo) * 0.06
	return &Axis{Name: name, Unit: unit, Lo: lo - air, Hi: hi + air}
}

// apart reports whether two values differ by more than the last digits of floats, which ticks between them would need.
func apart(lo, hi float64) bool { return hi-lo > 1e-9*max(math.Abs(lo), math.Abs(hi)) }

// marks are the axis' ticks, their texts and its title. A text is the value at its tick, never rounded to another.
func (a *Axis) marks() (ticks []float64, text func(float64) string, title string) {
	title = a.Name
	one, step := 1.0, ""
	switch a.Unit {
	case Share, Gain:
		one = 0.01
	case Span:
		ticks, one, step = spans(a.Lo, a.Hi)
	case Date:
		ticks, text = dates(a.Lo, a.Hi)
	case "ratio":
	default:
		most := max(math.Abs(a.Lo), math.Abs(a.Hi))
		if a.Unit == "1/s" && most >= 1 && most < 10e3 { // 1500 is shorter than 1.5 thousands
			most = 1
		}
		one, step = result.Step(most, a.Unit)
	}
	if a.Log {
		step, ticks = "", decades(a.Lo, a.Hi)
		title += ", logarithmic"
	}
	switch {
	case a.Ticks != nil:
		ticks = a.Ticks
	case ticks == nil:
		for _, v := range Ticks(a.Lo/one, a.Hi/one) {
			ticks = append(ticks, v*one)
		}
	}
	switch {
	case a.Text != nil:
		return ticks, a.Text, title
	case text != nil:
		return ticks, text, title
	case a.Log && a.Unit != "ratio":
		return ticks, func(v float64) string {
			one, step := result.Step(v, a.Unit)
			return number(v/one) + " " + step
		}, title
	}
	if step != "" {
		title = strings.TrimSpace(title + " (" + step + ")")
	}
	return ticks, func(v float64) string {
		switch t := number(v / one); {
		case a.Unit == "ratio":
			return t + "x"
		case a.Unit == Gain && v > 0:
			return "+" + t + " %"
		case a.Unit == Share || a.Unit == Gain:
			return t + " %"
		default:
			return t
		}
	}, title
}

// number prints a tick: what sums of steps leave in the last digits of a float is none of it.
func number(v float64) string { return strconv.FormatFloat(v+0, 'g', 10, 64) }

// Ticks are 3 to 7 round numbers within [lo, hi].
func Ticks(lo, hi float64) []float64 {
	if !apart(lo, hi) {
		return []float64{lo}
	}
	step := math.Pow(10, math.Floor(math.Log10(hi-lo)))
	for _, f := range []float64{0.1, 0.2, 0.25, 0.5, 1, 2} {
		if n := (hi - lo) / (step * f); n <= 6 {
			step *= f
			break
		}
	}
	return multiples(lo, hi, step)
}

// mostTicks is more than any axis has: a step that floats cannot tell from 0 would else have no end of them.
const mostTicks = 100

func multiples(lo, hi, step float64) (out []float64) {
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-9 && len(out) < mostTicks; i++ {
		out = append(out, i*step+0) // never -0
	}
	return out
}

// decades are powers of ten, and their multiples by 2 and 5 where they are few; nil: fewer than 3 of these, too, or no
// logarithms.
func decades(lo, hi float64) (out []float64) {
	if !(lo > 0) || math.IsInf(hi, 0) {
		return nil
	}
	factors := []float64{1}
	if math.Log10(hi/lo) < 2 {
		factors = []float64{1, 2, 5}
	}
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for _, f := range factors {
			if v := f * math.Pow(10, e); v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
				out = append(out, v)
			}
		}
	}
	if len(out) < 3 {
		return nil
	}
	return out
}

// Clocks have steps of their own, in seconds.
const (
	minute = 60.0
	hour   = 60 * minute
	day    = 24 * hour
)

var clockSteps = []float64{1, 2, 5, 10, 20, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute,
	30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 3 * day, 7 * day, 14 * day, 28 * day,
	56 * day,
	91 * day, 182 * day, 364 * day}

// clockStep is the shortest step that parts a time into eight at most; beyond all steps it is one of years.
func clockStep(lo, hi float64) float64 {
	for _, s := range clockSteps {
		if (hi-lo)/s <= 8 {
			return s
		}
	}
	return 364 * day * math.Ceil((hi-lo)/(8*364*day))
}

// spans are ticks of a span of time, and the unit in which they are written.
func spans(lo, hi float64) (ticks []float64, one float64, name string) {
	if hi-lo < 5 {
		return nil, 1, "s"
	}
	step := clockStep(lo, hi)
	ticks = multiples(lo, hi, step)
	switch {
	case step < minute:
		return ticks, 1, "s"
	case step < hour:
		return ticks, minute, "min"
	case step < day:
		return ticks, hour, "h"
	}
	return ticks, day, "days"
}

// dates are ticks at round moments, UTC.
func dates(lo, hi float64) (ticks []float64, text func(float64) string) {
	step, form := clockStep(lo, hi), "15:04:05"
	switch {
	case step >= 364*day:
		form = "2006-01-02"
	case step >= day:
		form = "2 Jan"
	case step >= hour && hi-lo > day:
		form = "2 Jan 15:04"
	case step >= minute:
		form = "15:04"
	}
	return multiples(lo, hi, step), func(v float64) string { return time.Unix(int64(v), 0).UTC().Format(form) }
}

// Scale maps an axis' values to a picture's coordinates.
type Scale struct {
	Axis
	From, To float64
}

// At returns where a value stands; what is beyond the axis stands at its end.
func (s *Scale) At(v float64) float64 {
	lo, hi := s.Lo, s.Hi
	if s.Log {
		v, lo, hi = math.Log(v), math.Log(lo), math.Log(hi)
	}
	return s.From + (min(max(v, lo), hi)-lo)/(hi-lo)*(s.To-s.From)
}

// Plot is a picture of values over one axis or two.
type Plot struct {
	*SVG
	X, Y                     Scale
	Left, Right, Top, Bottom float64 // of the field that values stand in
}

// NewPlot draws a picture's axes and the names of its series; the field is so high. Without y, rows stand in it.
func NewPlot(id string, width, height float64, series []string, x, y *Axis) *Plot {
	p := &Plot{SVG: &SVG{ID: id, W: width, Wide: width > Width}, Left: 12, Right: width - 12, Top: 6}
	if len(series) > 0 {
		p.Top = p.Legend(series, 14) + 4
	}
	if y != nil {
		p.vertical(y, height)
	}
	p.Bottom = p.Top + height
	p.X = Scale{*x, p.Left, p.Right}
	ticks, text, title := x.marks()
	p.across(ticks, text)
	p.Line(p.Left, p.Bottom, p.Right, p.Bottom, "base")
	p.H = p.Bottom + 24
	if title != "" {
		lines, _ := Lines(title, width-8, 2) // what is cut off ends in an ellipsis
		for _, l := range lines {
			p.H += 16
			p.Text(width/2, p.H-6, "middle", "axis", l)
		}
	}
	return p
}

// vertical draws the axis at the left, and its title above it.
func (p *Plot) vertical(y *Axis, height float64) {
	ticks, text, title := y.marks()
	if title != "" {
		p.Top += 4 + 16*float64(p.Label(4, p.Top+8, p.W-8, 2, "axis", title))
	}
	p.Top += 6 // half of the highest tick's text
	for _, v := range ticks {
		p.Left = max(p.Left, TextWidth(text(v))+12)
	}
	p.Y = Scale{*y, p.Top + height, p.Top}
	for _, v := range ticks {
		at := p.Y.At(v)
		p.Line(p.Left, at, p.Right, at, "grid")
		p.Text(p.Left-6, at+4, "end", "tick", text(v))
	}
}

// across draws grid and ticks of the axis below; where labels would touch, only every second, third, ... tick has one.
func (p *Plot) across(ticks []float64, text func(float64) string) {
	every := 1
	for every < len(ticks) && p.crowded(ticks, every, text) {
		every++
	}
	origin := max(0, slices.Index(ticks, 0)) // 0 is never left without its label
	for i, v := range ticks {
		at := p.X.At(v)
		p.Line(at, p.Top, at, p.Bottom, "grid")
		if (i-origin)%every == 0 {
			p.Line(at, p.Bottom, at, p.Bottom+4, "base")
			p.Text(at, p.Bottom+18, AnchorAt(at, p.W, text(v)), "tick", text(v))
		}
	}
}

// crowded reports whether labels at every so many ticks touch each other.
func (p *Plot) crowded(ticks []float64, every int, text func(float64) string) bool {
	origin, free := max(0, slices.Index(ticks, 0)), -1e9
	for i, v := range ticks {
		if (i-origin)%every != 0 {
			continue
		}
		at, w := p.X.At(v), TextWidth(text(v))
		left := at - w/2
		switch AnchorAt(at, p.W, text(v)) {
		case "start":
			left = at
		case "end":
			left = at - w
		}
		if left < free {
			return true
		}
		free = left + w + 6
	}
	return false
}

// Interval draws an estimate's interval; one that is not known is none.
func (p *Plot) Interval(x, low, high float64, class string) {
	if math.IsNaN(low) || math.IsNaN(high) {
		return
	}
	p.Line(x, p.Y.At(low), x, p.Y.At(high), class)
	for _, v := range []float64{low, high} {
		p.Line(x-3, p.Y.At(v), x+3, p.Y.At(v), class)
	}
}
