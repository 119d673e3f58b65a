package effects

import (
	"math"
	"strings"
	"testing"
	"time"

	"hostlab/internal/picture"
	"hostlab/internal/result"
)

func TestTimeline(t *testing.T) {
	run := func(at, seconds float64, status result.Status) result.Run {
		return result.Run{Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(at * float64(time.Second))), Seconds: seconds, Status: status}
	}
	every := func(from float64, n int) (out []result.Run) {
		for i := range n {
			out = append(out, run(from+float64(i), 0.5, result.OK))
		}
		return out
	}
	var plots []result.Run // a boot of minutes between each four runs
	for b := range 8 {
		plots = append(plots, every(float64(b)*300, 4)...)
	}
	for _, c := range []struct {
		name    string
		runs    []result.Run
		end     float64
		pauses  []float64
		ordered bool
		note    string
	}{
		{"none", nil, 0, nil, false, ""},
		{"one", every(5, 1), 0, nil, false, ""},
		{"no pause", every(5, 10), 9, nil, false, ""},
		{"a failed warm-up long before", append([]result.Run{run(0, 0.1, result.WarmUp)}, every(4000, 10)...), 9, nil, false, ""},
		{"a pause", append(every(0, 5), every(3604, 5)...), 9, []float64{3599.5}, false, "A pause of 1 h is cut out"},
		{"a warm-up after it", append(append(every(0, 5), run(3600, 1, result.WarmUp)), every(3604, 5)...), 9, []float64{3599.5}, false, ""},
		{"a pause that hides nothing", append(every(0, 1000), every(1030, 1000)...), 2029, nil, false, ""},
		{"boots", plots, 32, nil, true, "pauses of up to 5 min"},
		{"out of order", append(every(100, 5), every(0, 5)...), 9, []float64{95.5}, false, ""},
	} {
		l := newTimeline(c.runs)
		if math.Abs(l.End-c.end) > 1e-6 || l.Ordered != c.ordered || len(l.Pauses) != len(c.pauses) || !strings.Contains(l.note(), c.note) {
			t.Errorf("%s: %+v, %q", c.name, l, l.note())
			continue
		}
		for i, p := range l.Pauses {
			if math.Abs(p.Seconds-c.pauses[i]) > 1e-6 {
				t.Errorf("%s: a pause of %v s, want %v", c.name, p.Seconds, c.pauses[i])
			}
		}
		scale, last := newTimeScale(&l, 66, 468), math.Inf(-1)
		for i, at := range l.At {
			if (c.runs[i].Status == result.WarmUp) != math.IsNaN(at) {
				t.Errorf("%s: run %d at %v", c.name, i, at)
			}
			x := scale.At(at)
			if c.name != "out of order" && x <= last || x > 468 {
				t.Errorf("%s: run %d at %v after %v", c.name, i, x, last)
			}
			if !math.IsNaN(x) {
				last = x
			}
		}
	}
}

func TestLabelLines(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
		cut  bool
	}{{"", "", false}, {"wall time", "wall time", false}, {"peak memory: level 6", "peak memory:|level 6", false},
		{"Size of the packed output: level 6 at block 4", "Size of the|packed outp…", true}, {"unbreakable_and_much_too_long", "unbreakable…", true}} {
		lines, cut := picture.Lines(c.text, 96, 2)
		if got := strings.Join(lines, "|"); got != c.want || cut != c.cut {
			t.Errorf("%q: %q, %v", c.text, got, cut)
		}
		for _, l := range lines {
			if picture.TextWidth(l) > 96 {
				t.Errorf("%q is too wide", l)
			}
		}
	}
}
