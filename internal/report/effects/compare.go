package effects

import (
	"fmt"

	"hostlab/internal/analysis"
	"hostlab/internal/screen"
)

// compared is one effect in several experiments.
type compared struct {
	Name  string                         // "wall: level 6 against 1"
	Found []struct{ Report, Effect int } // those that have it
}

// compare lists the effects of all experiments, those that mean the same together.
func (s *Set) compare() []compared {
	var out []compared
	at := map[string]int{}
	for i := range s.Reports {
		x := s.Reports[i].head()
		for j := range s.Reports[i].Analysis.Effects {
			e := &s.Reports[i].Analysis.Effects[j]
			name := effectName(x, e)
			key := name + "\x00" + e.Response.Unit + "\x00" + string(e.Response.Compare)
			k, ok := at[key]
			if !ok {
				k = len(out)
				at[key] = k
				out = append(out, compared{Name: name})
			}
			out[k].Found = append(out[k].Found, struct{ Report, Effect int }{i, j})
		}
	}
	return out
}

// effect finds one.
func (s *Set) effect(f struct{ Report, Effect int }) *analysis.Effect {
	return &s.Reports[f.Report].Analysis.Effects[f.Effect]
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
	for _, c := range s.compare() {
		t.Raw("")
		t.Text("  ", screen.Bold, c.Name)
		for _, f := range c.Found {
			e, x := s.effect(f), s.Reports[f.Report].head()
			t.Hang("    ", verdictStyle[e.Verdict], fmt.Sprintf("%s: %s; %s", s.Reports[f.Report].Dir, figure(x, e), verdictWord(e.Verdict)))
		}
		if n := len(s.Reports) - len(c.Found); n > 0 {
			t.Text("    ", screen.Dim, fmt.Sprintf("%s without it", count(n, "experiment")))
		}
	}
}
