package effects

import (
	"fmt"

	"hostlab/internal/analysis"
	"hostlab/internal/screen"
)

// apart says what Row.Apart means.
const apart = "two of the intervals have nothing in common: the effects differ"

// rows are the effects of all experiments, those that mean the same together.
func (s *Set) rows() []analysis.Row {
	all := make([]*analysis.Analysis, len(s.Reports))
	for i := range s.Reports {
		all[i] = s.Reports[i].Analysis
	}
	return analysis.Compare(all).Rows
}

// rowName names a row in full, as the first experiment that has it does.
func (s *Set) rowName(r *analysis.Row) string {
	for i, e := range r.Effects {
		if e != nil {
			return effectName(s.Reports[i].head(), e)
		}
	}
	return r.Contrast
}

// comparison prints the same effects of several experiments under each other.
func (t *term) comparison(s *Set) {
	t.Text("", screen.Bold, fmt.Sprintf("Comparison of %d experiments: each effect is judged by itself, nothing is pooled.", len(s.Reports)))
	for i, w := range s.Differs {
		if i == 0 {
			t.Raw("")
		}
		t.Hang("! ", screen.Yellow, w)
	}
	for _, row := range s.rows() {
		t.Raw("")
		t.Text("  ", screen.Bold, s.rowName(&row))
		without := 0
		for i, e := range row.Effects {
			if e == nil {
				without++
				continue
			}
			t.Hang("    ", verdictStyle[e.Verdict], fmt.Sprintf("%s: %s; %s", s.Reports[i].Dir, figure(s.Reports[i].head(), e), verdictWord(e.Verdict)))
		}
		if row.Apart {
			t.Hang("    ! ", screen.Yellow, apart)
		}
		if without > 0 {
			t.Text("    ", screen.Dim, fmt.Sprintf("%s without it", count(without, "experiment")))
		}
	}
}
