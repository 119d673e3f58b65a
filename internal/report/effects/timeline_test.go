package effects

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/picture"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
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
		name string
		runs []result.Run
		last float64 // s after the first
	}{
		{"none", nil, 0},
		{"one", every(5, 1), 0},
		{"no pause", every(5, 10), 9},
		{"a failed warm-up long before", append([]result.Run{run(0, 0.1, result.WarmUp)}, every(4000, 10)...), 9},
		{"a pause", append(every(0, 5), every(3604, 5)...), 3608},
		{"a warm-up after it", append(append(every(0, 5), run(3600, 1, result.WarmUp)), every(3604, 5)...), 3608},
		{"a pause that hides nothing", append(every(0, 1000), every(1030, 1000)...), 2029},
		{"boots", plots, 2103},
		{"out of order", append(every(100, 5), every(0, 5)...), 104},
	} {
		l, place := newTimeline(c.runs), 0.0
		if n := len(l.Since); n > 0 && (l.Since[n-1] != c.last || l.Since[0] != 0 || !slices.IsSorted(l.Since)) {
			t.Errorf("%s: %v", c.name, l.Since)
		}
		for i, at := range l.At {
			testkit.Is(t, math.IsNaN(at), (c.runs[i].Status == result.WarmUp), c.name, "run", i, "at", at)
			if !math.IsNaN(at) {
				if place++; c.name != "out of order" && at != place || at < 1 || int(at) > len(l.Since) {
					t.Errorf("%s: run %d at %v, want %v", c.name, i, at, place)
				}
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
