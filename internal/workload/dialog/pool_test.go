package dialog

import (
	"testing"
	"time"

	"hostlab/internal/model"
	"hostlab/internal/stats"
	"hostlab/internal/testkit"
)

// play runs a plan on a pool in virtual time, on CPUs that never slow down, and
// returns which CPU ran each slice. It does what the threads do.
func play(t *testing.T, p plan) (*pool, []int) {
	t.Helper()
	x := testkit.Must(newPool(p))(t)
	defer x.close()
	var now time.Duration
	var ran []int
	ends := map[*unit]time.Duration{}
	for range 1_000_000 {
		x.fire(now)
		for i, u := range x.units {
			if _, runs := ends[u]; u.next != nil && !runs {
				s := u.next
				w := x.work(s)
				s.waited += now - s.ready
				s.cpu += ns(w)
				s.demand += w
				ends[u] = now + ns(w)
				ran = append(ran, i)
			}
		}
		next, who := time.Duration(-1), (*unit)(nil)
		for u, at := range ends {
			if next < 0 || at < next {
				next, who = at, u
			}
		}
		if len(x.due) > 0 && (next < 0 || x.due[0].at <= next) {
			now = x.due[0].at
			continue
		}
		if who == nil {
			return x, ran
		}
		now = next
		delete(ends, who)
		x.ended(who, who.next, now)
	}
	t.Fatal("it never ends")
	return nil, nil
}

// The pool's queue and placement are the model's.
func TestPoolIsTheModels(t *testing.T) {
	for _, p := range []plan{
		{CPUs: make([]int, 2), Load: 0.8, Slices: 3, Slice: length{0.06, true}, Wait: length{0.04, true}, WarmUp: 50,
			Duration: 6000, Floor: 0.5, Seed: 4},
		{CPUs: make([]int, 4), Users: 6, Slices: 2, Slice: length{0.05, true}, Wait: length{0.02, false},
			Think: length{0.1, true}, WarmUp: 50, Duration: 2000, Floor: 0.5, Seed: 5, Packed: true},
	} {
		x, ran := play(t, p)
		got := testkit.Must(sample(x.result))(t)
		c := testkit.Must(p.Case())(t)
		want := testkit.Must(model.Simulate(t.Context(), c, model.Options{Seed: 1}))(t)
		if w := want.Responses[model.StepTime].Value; got.Values["step_mean"]/w < 0.95 || got.Values["step_mean"]/w > 1.05 {
			t.Errorf("%+v: steps take %.4g s, in the model %.4g s", p, got.Values["step_mean"], w)
		}
		count := make([]int, len(p.CPUs))
		for _, i := range ran {
			count[i]++
		}
		if first, last := count[0], count[len(count)-1]; p.Packed && first*10 < last*13 || !p.Packed &&
			(first*10 < last*9 || last*10 < first*9) {
			t.Errorf("packed %v: slices by CPU %v", p.Packed, count)
		}
	}
}

// Steps are the same whatever the clock does, and counted after the warm-up.
func TestDemandIsThatOfTheSeed(t *testing.T) {
	p := plan{CPUs: make([]int, 2), Load: 0.4, Slices: 3, Slice: length{0.06, true}, Wait: length{0.04, true}, WarmUp: 1,
		Duration: 100, Floor: 0.5, Seed: 9}
	a, _ := play(t, p)
	p.CPUs = p.CPUs[:1]
	p.Load *= 2 // the same arrivals on half of the CPUs
	b, _ := play(t, p)
	if x, y := stats.Mean(a.result.Demand), stats.Mean(b.result.Demand); len(a.result.Demand) != len(b.result.Demand) ||
		x/y < 0.999999 || x/y > 1.000001 {
		t.Errorf("%d steps of %g s, then %d of %g s", len(a.result.Demand), x, len(b.result.Demand), y)
	}
}
