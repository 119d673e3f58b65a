package rounds

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// orders plays three runs and returns the order of each round.
func orders(t *testing.T, p Plan) (out []string) {
	t.Helper()
	var order strings.Builder
	var runs []func() error
	for _, name := range []string{"a", "b", "c"} {
		runs = append(runs, func() error { order.WriteString(name); return nil })
	}
	testkit.OK(t, p.Play(runs, func(round int) {
		testkit.Is(t, len(out), round, "round")
		out = append(out, order.String())
		order.Reset()
	}))
	return out
}

func TestPlay(t *testing.T) {
	const rounds = 600
	got := orders(t, Plan{rounds, 1})
	seen := map[string]int{}
	for _, o := range got {
		seen[o]++
	}
	if len(got) != rounds || len(seen) != 6 {
		t.Fatalf("%d rounds, orders %v", len(got), seen)
	}
	for o, n := range seen {
		// 100 are expected with a standard deviation of 9.1; the seed is fixed.
		if n < 60 || n > 140 || !strings.Contains(o, "a") || !strings.Contains(o, "b") || !strings.Contains(o, "c") {
			t.Errorf("order %s came %d times", o, n)
		}
	}
	testkit.Same(t, got, orders(t, Plan{rounds, 1}), "the same seed gave another order")
	if cmp.Equal(got, orders(t, Plan{rounds, 2})) {
		t.Error("another seed gave the same order")
	}
}

func TestPlayStopsAtAnError(t *testing.T) {
	broken, left, ended := errors.New("broken"), 4, 0
	run := func() error {
		if left--; left == 0 {
			return broken
		}
		return nil
	}
	err := Plan{9, 1}.Play([]func() error{run, run, run}, func(int) { ended++ })
	if !errors.Is(err, broken) || left != 0 || ended != 1 {
		t.Errorf("%v, %d runs left, %d rounds ended", err, left, ended)
	}
}

// timed takes so many seconds, and half as much again in the next round.
func timed(name string, seconds float64) Kind {
	return Kind{Name: name, Run: func() (float64, error) {
		defer func() { seconds *= 1.5 }()
		return seconds, nil
	}}
}

func TestTimeAndSpeeds(t *testing.T) {
	for rounds, want := range map[int]string{
		2: `round   hostlab      slow      psql  the same
    1    0.5000    2.0000    1.0000    1.0000
    2    0.7500    3.0000    1.5000    1.5000
hostlab     2.000  [NaN, NaN]  n=2  not decided
slow        0.500  [NaN, NaN]  n=2  not decided
the same    1.000  [NaN, NaN]  n=2  (A/A)
`,
		6: `round   hostlab      slow      psql  the same
    1    0.5000    2.0000    1.0000    1.0000
    2    0.7500    3.0000    1.5000    1.5000
    3    1.1250    4.5000    2.2500    2.2500
    4    1.6875    6.7500    3.3750    3.3750
    5    2.5312   10.1250    5.0625    5.0625
    6    3.7969   15.1875    7.5938    7.5938
hostlab     2.000  [2.000, 2.000]  n=6  yes
slow        0.500  [0.500, 0.500]  n=6  no
the same    1.000  [1.000, 1.000]  n=6  (A/A)
`,
	} {
		kinds := []Kind{timed("hostlab", 0.5), timed("slow", 2), timed("psql", 1), timed("the same", 1)}
		var out strings.Builder
		testkit.OK(t, (Plan{rounds, 1}).Time(&out, kinds))
		Speeds(&out, kinds, 0.9)
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%d rounds: %s", rounds, diff)
		}
	}
	broken := errors.New("broken")
	bad := []Kind{{Name: "bad", Run: func() (float64, error) { return 0, broken }}}
	if err := (Plan{2, 1}).Time(new(strings.Builder), bad); !errors.Is(err, broken) {
		t.Errorf("a run's error became %v", err)
	}
}

func TestWithin(t *testing.T) {
	nan := math.NaN()
	for _, tc := range []struct {
		low, high, margin float64
		want              string
	}{
		{0.9, 1.1, 0.1, "within 10 %: yes"},
		{0.95, 1.05, 0.05, "within 5 %: yes"},
		{0.94, 1.05, 0.05, "within 5 %: not decided by so many rounds"},
		{0.95, 1.06, 0.05, "within 5 %: not decided by so many rounds"},
		{0.8, 0.899, 0.1, "within 10 %: no"},
		{1.101, 2, 0.1, "within 10 %: no"},
		{nan, nan, 0.1, "within 10 %: not decided by so many rounds"},
	} {
		if got := Within(result.Estimate{Low: tc.low, High: tc.high}, tc.margin); got != tc.want {
			t.Errorf("[%g, %g]: %s, expected %s", tc.low, tc.high, got, tc.want)
		}
	}
}
