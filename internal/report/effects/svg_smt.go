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

// sweepPlaces are the lines of the sweep.
var sweepPlaces = []string{"sibling", "core"}

// sweep draws what is kept against the size of the scan, with the caches' sizes.
func (s *smtSection) sweep(id string) (picture.Figure, bool) {
	var all []*smtCell
	lo, hi, most, least := math.Inf(1), math.Inf(-1), 1.0, 0.9
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.Antagonist != "scan" || c.Size <= 0 || c.Ratio.N == 0 || !known(c.Ratio.Value) ||
			!slices.Contains(sweepPlaces, c.Place) {
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
	caches := slices.SortedFunc(maps.Keys(s.Caches), func(a,
		b string) int {
		return cmp.Or(cmp.Compare(s.Caches[a], s.Caches[b]), cmp.Compare(a, b))
	})
	for _, c := range caches {
		lo, hi = min(lo, float64(s.Caches[c])), max(hi, float64(s.Caches[c]))
	}
	pic := &picture.SVG{ID: id, W: 480}
	var places, names []string
	for _, p := range sweepPlaces {
		if slices.ContainsFunc(all, func(c *smtCell) bool { return c.Place == p }) {
			places, names = append(places, p), append(names, "scanner on "+placeOf(p).on)
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
			pic.Text(at, top-8, picture.AnchorAt(at, pic.W, c), "note", c)
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
		Note: "Marks are shares of the rate without a scanner, bars their 95 % intervals. Dashed upright lines are the sizes of the " +
			"caches; the dashed level line is the limit of harm, 90 %."}, true
}

func shareTick(v float64) string { return fmt.Sprintf("%g %%", math.Round(v*1e5)/1e3) }
