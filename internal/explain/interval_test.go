package explain

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// stay simulates what sessions do that spend share of their time in a part, each
// time for an exponential time around length, and samples them; all from one source.
func stay(rng *rand.Rand, sessions, stretches, looks int, share, length float64) (batches []Batch) {
	in, until := make([]bool, sessions), make([]float64, sessions)
	for i := range in {
		in[i] = rng.Float64() < share
		until[i] = rng.ExpFloat64() * length * factor(in[i], share)
	}
	dt, now := 1/float64(looks), 0.0
	for range stretches {
		b := Batch{Wall: 1, Snapshots: looks, Seconds: map[Key]float64{}}
		for range looks {
			now += dt
			for i := range in {
				for until[i] < now {
					in[i] = !in[i]
					until[i] += rng.ExpFloat64() * length * factor(in[i], share)
				}
				if in[i] {
					b.Seconds[Key{Part: DataReads, Event: "read"}] += dt
				} else {
					b.Seconds[Key{Part: DatabaseCPU, Event: OnCPU}] += dt
				}
			}
		}
		batches = append(batches, b)
	}
	return batches
}

func factor(in bool, share float64) float64 {
	if in {
		return 1
	}
	return (1 - share) / share
}

// The upper end, which bounds are made from, is below the truth in at most 1 of 20
// recordings, be what is looked for rare, often or long. The limit has 3 of the standard
// errors of 200 recordings on top.
func TestUpperEndsHold(t *testing.T) {
	const times, limit = 200, 0.05 + 3*0.0155
	for _, c := range []struct {
		name             string
		sessions         int
		stretches, looks int
		share, length    float64
	}{
		{"rare and short", 4, 8, 12, 0.005, 0.001},
		{"rare, one session", 1, 30, 30, 0.003, 0.001},
		{"often and short", 4, 8, 12, 0.2, 0.001},
		{"often and long", 4, 20, 12, 0.2, 0.3},
		{"many sessions", 20, 10, 12, 0.02, 0.01},
	} {
		rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test that gives the same each time
		below, widest := 0, 0.0
		for range times {
			_, parts, _, _ := Decompose(stay(rng, c.sessions, c.stretches, c.looks, c.share, c.length), Account{})
			p := find(parts, DataReads)
			if p.Share.High < c.share {
				below++
			}
			widest = max(widest, p.Share.High)
		}
		if got := float64(below) / times; got > limit {
			t.Errorf("%s: below the truth in %.1f %%", c.name, 100*got)
		}
		if c.share < 0.01 && widest > 0.15 {
			t.Errorf("%s: up to %v, which tells nothing", c.name, widest)
		}
	}
}

// Nothing seen in n samples: the limit is the exact one, about 3.7 of n.
func TestUnseen(t *testing.T) {
	for n, want := range map[float64]float64{1: 0.975, 100: 0.03621669, 1000: 0.00368208} {
		if got := unseen(n); math.Abs(got-want) > 1e-6 {
			t.Errorf("%v samples: %v, expected %v", n, got, want)
		}
	}
	testkit.Is(t, 1, unseen(0), "without samples all is possible")
}

// queue runs jobs that compute, take one lock and hold it over some work and a part
// that a lever takes away, for times around the means a, b and c. It returns the time of
// all sessions until their last jobs, how much of it was the part and the wait for the
// lock, and the time without the part.
func queue(rng *rand.Rand, sessions int, a, b, c float64) (elapsed, part, locks, after float64) {
	const jobs = 100
	think, hold, take := make([][jobs]float64, sessions), make([][jobs]float64, sessions), make([][jobs]float64, sessions)
	for i := range sessions {
		for n := range jobs {
			think[i][n], hold[i][n], take[i][n] = a*rng.ExpFloat64(), b*rng.ExpFloat64(), c*rng.ExpFloat64()
		}
	}
	run := func(with float64) (elapsed, part, locks float64) {
		at, done, free := make([]float64, sessions), make([]int, sessions), 0.0
		for i := range at {
			at[i] = think[i][0]
		}
		for {
			next := -1
			for i := range at {
				if done[i] < jobs && (next < 0 || at[i] < at[next]) {
					next = i
				}
			}
			if next < 0 {
				return elapsed, part, locks
			}
			n := done[next]
			begin, p := max(at[next], free), with*take[next][n]
			locks, part = locks+begin-at[next], part+p
			free = begin + hold[next][n] + p
			at[next], done[next] = free, n+1
			if n+1 == jobs {
				elapsed += free
			} else {
				at[next] += think[next][n+1]
			}
		}
	}
	elapsed, part, locks = run(1)
	after, _, _ = run(0)
	return elapsed, part, locks, after
}

// What a lever gives in a queue for a lock is within its bound, though waits for the
// lock shrink by more than the lever's own part. Who comes first changes with the part
// and moves single queues either way, so many are taken together.
func TestBoundsHoldInAQueue(t *testing.T) {
	rng, more := rand.New(rand.NewPCG(3, 4)), 0 //nolint:gosec // a test that gives the same each time
	for i := range 60 {
		sessions, a, b, c := 1+rng.IntN(8), 8*rng.Float64(), rng.Float64(), 0.05+rng.Float64()
		var before, gained, most, share float64
		for range 40 {
			elapsed, part, locks, after := queue(rng, sessions, a, b, c)
			r := Report{Elapsed: elapsed, Busy: elapsed, Peak: sessions,
				Parts: []Part{{Name: LogWait, Seconds: part, Share: result.Estimate{High: part / elapsed}},
					{Name: Locks, Seconds: locks, Share: result.Estimate{High: locks / elapsed}}}}
			bound := r.Saving(LogWait, nil)
			before, gained, most, share = before+elapsed, gained+elapsed-after, most+bound.AtMost*elapsed, share+part
		}
		if gained > most*1.0001 {
			t.Errorf("queue %d: %d sessions gain %.4f, bound %.4f", i, sessions, gained/before, most/before)
		}
		if gained > 1.2*share {
			more++
		}
	}
	if more < 10 {
		t.Errorf("in %d of 60 only did waits for the lock shrink too", more)
	}
}

// What was counted is the surer the less it differs between stretches.
func TestVaries(t *testing.T) {
	all := []float64{1, 1, 1, 1}
	for _, c := range []struct {
		num  []float64
		want float64
	}{
		{[]float64{0.5, 0.5, 0.5, 0.5}, 0},
		{[]float64{0.4, 0.6, 0.4, 0.6}, 3.182446 * 0.2 / math.Sqrt(12)}, // Student's quantile for 3 times the standard error
		{[]float64{0, 0, 0, 0}, 0},
	} {
		if got := varies(c.num, all); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%v: %v, expected %v", c.num, got, c.want)
		}
	}
	testkit.Is(t, 0, varies([]float64{1}, []float64{2}), "a single stretch has no spread")
}

// A sample that takes long comes seldom: asking stays near half a percent of one CPU.
func TestPace(t *testing.T) {
	for cost, want := range map[float64]time.Duration{10e-6: 10 * time.Millisecond, 300e-6: 60 * time.Millisecond,
		5e-3: 500 * time.Millisecond, 30e-3: 3 * time.Second, 1: rarest} {
		testkit.Is(t, want, Pace([]float64{cost}), "a sample of", cost, "s: one in")
	}
}

// A part that takes no time, counted, is one after a recording was read, too: its bound is no NaN.
func TestSavedZero(t *testing.T) {
	r := Report{Busy: 10, Elapsed: 10, Parts: []Part{{Name: DatabaseCPU, Seconds: 10, Source: "test",
		Share: result.Estimate{Value: 1, Low: 1, High: 1}},
		{Name: LogWait, Source: "test"}}}
	text, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if s := r.Saving(LogWait, nil); err != nil || s.AtMost != 0 || s.Likely != 0 {
		t.Errorf("%+v, %v from %s", s, err, text)
	}
}
