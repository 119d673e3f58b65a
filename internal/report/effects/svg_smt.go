package effects

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"hostlab/internal/picture"
	"hostlab/internal/result"
)

// heat is a step of the scale that colours ratios.
type heat struct {
	below float64 // ratios under it
	class string
	text  string
}

// heats go from the greatest loss to gain; 0.90 and 0.95 to 1.05 are the limits of
// the rule in package smt.
var heats = []heat{
	{0.5, "h3", "under 50 %"}, {0.75, "h2", "50 to 75 %"}, {0.9, "h1", "75 to 90 %"}, {0.95, "h0", "90 to 95 %"},
	{1.05, "none", "95 to 105 %, or unsure"}, {1.2, "g0", "105 to 120 %"}, {math.Inf(1), "g1", "over 120 %"},
}

// heatOf is the step of a ratio: none where its interval holds 100 %, as a colour would
// claim an effect.
func heatOf(iv result.Estimate) heat {
	v := iv.Value
	if iv.N == 0 || !known(iv.Low, iv.High) || iv.Low < 1 && iv.High > 1 {
		v = 1
	}
	for _, h := range heats {
		if v < h.below {
			return h
		}
	}
	return heats[len(heats)-1]
}

// The matrix of placements.
const (
	heatLeft = 104.0
	heatTop  = 24.0
	heatRow  = 64.0
)

// matrix draws every antagonist in every placement, coloured by what the lock thread
// keeps of its rate.
func (s *smtSection) matrix(id string) (picture.Figure, bool) {
	rows, columns := s.rows(), s.columns()
	if len(rows) == 0 {
		return picture.Figure{}, false
	}
	pic := &picture.SVG{ID: id, W: 480}
	wide := (pic.W - heatLeft) / float64(len(columns))
	for c, p := range columns {
		pic.Text(heatLeft+wide*(float64(c)+0.5), heatTop-8, "middle", "name", picture.Short(s.title(p), int(wide/8)))
	}
	var says, gone []string
	for r, row := range rows {
		y := heatTop + heatRow*float64(r)
		pic.Label(0, y+heatRow/2-4, heatLeft-6, 2, "name", row)
		for c, p := range columns {
			x := heatLeft + wide*float64(c)
			cell := s.at(row, p)
			if cell == nil || cell.Ratio.N == 0 {
				word, why := s.gap(p)
				pic.Rect(x+1, y+1, wide-2, heatRow-2, "heat-gone", s.title(p)+": "+why)
				hatch(pic, x+1, y+1, wide-2, heatRow-2)
				pic.Rect(x+wide/2-30, y+heatRow/2-10, 60, 20, "heat-gone", "")
				pic.Text(x+wide/2, y+heatRow/2+4, "middle", "incell", word)
				if g := s.title(p) + " (" + why + ")"; word == "absent" && !slices.Contains(gone, g) {
					gone = append(gone, g)
				}
				continue
			}
			iv := cell.Ratio
			said := row + ", " + s.title(p) + ": " + percentFigure(iv)
			says = append(says, said)
			pic.Rect(x+1, y+1, wide-2, heatRow-2, "heat-"+heatOf(iv).class, said)
			mark := ""
			if cell.Marked > 0 {
				mark = " c"
			}
			lines := []string{percent(iv.Value) + mark, "no interval"}
			if known(iv.Low, iv.High) { // in two lines, as four columns are narrow
				lines = []string{lines[0], strings.TrimSuffix(percent(iv.Low), " %") + " to", percent(iv.High)}
			}
			for k, l := range lines {
				class := "incell"
				if k == 0 {
					class = "incell figure"
				}
				pic.Text(x+wide/2, y+heatRow/2+4+17*(float64(k)-float64(len(lines)-1)/2), "middle", class, l)
			}
		}
	}
	bottom := heatTop + heatRow*float64(len(rows))
	if lines := s.rotatingLines(); len(lines) > 0 {
		row := "rotating " + s.Rotating.row()
		pic.Label(0, bottom+heatRow/2-4, heatLeft-6, 2, "name", row)
		pic.Rect(heatLeft+1, bottom+1, pic.W-heatLeft-2, heatRow-2, "heat-"+heatOf(s.rotationColour()).class, row+": "+strings.Join(lines, "; "))
		for k, l := range lines {
			figure, of, _ := strings.Cut(l, ": ")
			of, _, _ = strings.Cut(of, ", ") // there is no room for why; it is in the title
			for half, text := range []string{figure, of} {
				pic.Text(heatLeft+(pic.W-heatLeft)/2, bottom+heatRow/2+4+14*(float64(2*k+half)-float64(2*len(lines)-1)/2), "middle", []string{"incell figure", "incell"}[half], text)
			}
		}
		says = append(says, row+": "+strings.Join(lines, "; "))
		bottom += heatRow
	}
	end := s.heatLegend(pic, bottom+16)
	pic.H = end
	note := "What a lock-taking thread keeps of its rate beside each antagonist: 100 % is all of it. Orange is loss, blue gain, and grey none or unsure, where the interval holds 100 %; each cell has the share and its interval, c marks contaminated runs."
	if s.Rotating != nil {
		note += " Rotating is the published program: one CPU scans in turn and "
		if s.contested() {
			note += "all others want one lock; "
		} else {
			note += "the other takes the lock; "
		}
		if s.Rotation.N > 0 {
			note += "its colour is that of the scanner's sibling against the others."
		} else {
			note += "its colour is that of the lock thread against alone."
		}
	}
	if len(gone) > 0 {
		note += " Absent, not on this host: " + strings.Join(gone, "; ") + "."
	}
	const title = "Placements by effect"
	return picture.Figure{Title: title, SVG: pic.Done(title, strings.Join(says, "; ")), Note: note + " The table below has the same figures with n."}, true
}

// hatch draws diagonal lines within a rectangle; a pattern would have to be referred
// to by url(), which the page's policy leaves out.
func hatch(pic *picture.SVG, x, y, w, h float64) {
	var b strings.Builder
	for d := 10.0; d < w+h; d += 10 {
		x1, y1 := x+min(d, w), y+max(0, d-w)
		x2, y2 := x+max(0, d-h), y+min(d, h)
		b.WriteString("M" + picture.Num(x1) + " " + picture.Num(y1) + "L" + picture.Num(x2) + " " + picture.Num(y2))
	}
	pic.Raw(`<path d="` + b.String() + `" class="hatch"/>`)
}

// heatLegend draws the scale from y and returns where it ends.
func (s *smtSection) heatLegend(pic *picture.SVG, y float64) float64 {
	x := 0.0
	for _, h := range heats {
		w := 26 + picture.TextWidth(h.text)
		if x > 0 && x+w > pic.W {
			x, y = 0, y+22
		}
		pic.Rect(x, y-11, 14, 14, "heat-"+h.class, "")
		pic.Text(x+19, y, "start", "tick", h.text)
		x += w + 4
	}
	return y + 12
}

// sweepPlaces are the lines of the sweep.
var sweepPlaces = []string{"sibling", "core"}

// sweep draws what is kept against the size of the scan, with the caches' sizes.
func (s *smtSection) sweep(id string) (picture.Figure, bool) {
	var all []*smtCell
	lo, hi, most, least := math.Inf(1), math.Inf(-1), 1.0, 0.9
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.Antagonist != "scan" || c.Size <= 0 || c.Ratio.N == 0 || !known(c.Ratio.Value) || !slices.Contains(sweepPlaces, c.Place) {
			continue
		}
		all = append(all, c)
		lo, hi = min(lo, float64(c.Size)), max(hi, float64(c.Size))
		for _, v := range []float64{c.Ratio.Value, c.Ratio.Low, c.Ratio.High} {
			if known(v) {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	if len(all) < 2 || !(hi > lo) {
		return picture.Figure{}, false
	}
	caches := slices.SortedFunc(maps.Keys(s.Caches), func(a, b string) int { return cmp.Or(cmp.Compare(s.Caches[a], s.Caches[b]), cmp.Compare(a, b)) })
	for _, c := range caches {
		lo, hi = min(lo, float64(s.Caches[c])), max(hi, float64(s.Caches[c]))
	}
	pic := &picture.SVG{ID: id, W: 480}
	var places, names []string
	for _, p := range sweepPlaces {
		if slices.ContainsFunc(all, func(c *smtCell) bool { return c.Place == p }) {
			places, names = append(places, p), append(names, "scanner on "+map[string]string{"sibling": "the sibling", "core": "another core"}[p])
		}
	}
	top := pic.Legend(names, 14) + 24
	const left, right, height = 56.0, 12.0, 200.0
	bottom := top + height
	pic.H = bottom + 44
	x := picture.NewScale(math.Log(lo), math.Log(hi), left, pic.W-right)
	x.Log = true
	y := picture.NewScale(max(0, least-0.02), most+0.02, bottom, top)
	pic.AxisY(y, left, pic.W-right, shareTick)
	var ticks []float64
	for v := math.Exp2(math.Ceil(math.Log2(math.Exp(x.Lo)))); v <= math.Exp(x.Hi); v *= 4 {
		ticks = append(ticks, v)
	}
	pic.AxisXAt(ticks, x.At, top, bottom, func(v float64) string { return picture.Round(v, "B") })
	pic.Line(left, y.At(1), pic.W-right, y.At(1), "none")
	pic.Line(left, y.At(0.9), pic.W-right, y.At(0.9), "ideal")
	free := -1e9
	for _, c := range caches {
		at := x.At(float64(s.Caches[c]))
		pic.Line(at, top-4, at, bottom, "mark")
		if start := at - picture.TextWidth(c)/2; start > free {
			pic.Text(at, top-8, picture.AnchorAt(at, pic.W), "note", c)
			free = at + picture.TextWidth(c)/2 + 4
		}
	}
	t := &picture.Table{Caption: "What is kept by size of the scan", Head: append([]string{"Size"}, names...)}
	rows := map[int64][]string{}
	var says []string
	for k, p := range places {
		var pts [][2]float64
		cells := slices.DeleteFunc(slices.Clone(all), func(c *smtCell) bool { return c.Place != p })
		slices.SortStableFunc(cells, func(a, b *smtCell) int { return int(min(max(a.Size-b.Size, -1), 1)) })
		shift := (float64(k) - float64(len(places)-1)/2) * 4 // so that bars do not hide each other
		for _, c := range cells {
			at := x.At(float64(c.Size)) + shift
			pts = append(pts, [2]float64{at, y.At(c.Ratio.Value)})
			if known(c.Ratio.Low, c.Ratio.High) {
				pic.Line(at, y.At(c.Ratio.Low), at, y.At(c.Ratio.High), fmt.Sprintf("whisker k%d", k))
			}
			if rows[c.Size] == nil {
				rows[c.Size] = make([]string, len(places))
			}
			rows[c.Size][k] = percentFigure(c.Ratio)
			says = append(says, c.row()+", "+names[k]+": "+percentFigure(c.Ratio))
		}
		pic.Path(pts, fmt.Sprintf("join k%d", k), false)
		pic.Marks(k, pts)
	}
	for _, size := range slices.Sorted(maps.Keys(rows)) {
		row := []string{result.Format(float64(size), "B")}
		for _, text := range rows[size] {
			row = append(row, cmp.Or(text, "not run"))
		}
		t.Rows = append(t.Rows, row)
	}
	const title = "What is kept by size of the scan"
	return picture.Figure{Title: title, SVG: pic.Done(title, strings.Join(says, "; ")), Table: t,
		Note: "Marks are shares of the rate without a scanner, bars their 95 % intervals. Dashed upright lines are the sizes of the caches; the dashed level line is the limit of harm, 90 %."}, true
}

func shareTick(v float64) string { return fmt.Sprintf("%g %%", math.Round(v*1e5)/1e3) }
