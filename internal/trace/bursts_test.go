package trace

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"hostlab/internal/model/burstlog"
)

// short are bursts of a millisecond on a CPU between two moments, 50 a second, of which windows saw a share begin.
func short(rng *rand.Rand, cpu int, from, to, seen float64) (out []burstlog.Burst, busy float64) {
	for at := from; ; {
		b := burstlog.Burst{CPU: cpu, At: at, Busy: 1e-3 * rng.ExpFloat64(), Idle: 19e-3 * rng.ExpFloat64()}
		if at += b.Busy + b.Idle; at > to {
			return out, busy
		}
		busy += b.Busy
		if rng.Float64() < seen {
			out = append(out, b)
		}
	}
}

// Time that a CPU was busy and that lies in no burst which began and ended in the recording is one that did not, and
// fills the CPU's own gaps. Bursts that were all sampled stay as they are.
func TestComplete(t *testing.T) {
	const length = 60
	for _, c := range []struct {
		name       string
		seen       float64
		never      []float64 // for each CPU, until when a thread that never sleeps runs there, from the beginning
		then       []float64 // and from when on, to the end
		most, less int       // bursts that are added, on all CPUs
	}{
		{"none", 1, []float64{0, 0}, []float64{length, length}, 0, 0},
		{"none, in a tenth of the time", 0.1, []float64{0, 0}, []float64{length, length}, 0, 0},
		{"on one CPU", 1, []float64{length, 0}, []float64{length, length}, 1, 1},
		{"on one CPU, in a tenth of the time", 0.1, []float64{length, 0}, []float64{length, length}, 1, 1},
		{"on both", 0.5, []float64{length, length}, []float64{length, length}, 2, 2},
		{"from one to the other", 1, []float64{25, 0}, []float64{length, 25}, 2, 2},
		{"from one to the other, in half of the time", 0.5, []float64{25, 0}, []float64{length, 25}, 4, 2},
		{"from one to the other and back", 1, []float64{20, 0}, []float64{40, length}, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			r := &Result{Target: "it", Length: length, Seen: length * c.seen, Windows: 60}
			had := 0
			for cpu := range c.never {
				bursts, busy := short(rng, cpu, c.never[cpu], c.then[cpu], c.seen)
				r.Bursts = append(r.Bursts, bursts...)
				had += len(bursts)
				busy += c.never[cpu] + length - c.then[cpu]
				r.CPUs = append(r.CPUs, CPU{Number: cpu, Busy: busy / length, Run: 0.9 * busy / length})
			}
			r.complete()
			if n := len(r.Bursts) - had; n < c.less || n > c.most {
				t.Errorf("%d bursts were added", n)
			}
			for i, cpu := range r.CPUs {
				if c.never[i] == 0 && c.then[i] == length && c.seen < 1 {
					continue // a matter of luck
				}
				sum := 0.0
				for _, b := range r.Bursts {
					if b.CPU == cpu.Number {
						sum += b.Busy
					}
				}
				if want := cpu.Busy * r.Seen; math.Abs(sum/want-1) > 0.15 || c.seen == 1 && math.Abs(sum/want-1) > 0.01 {
					t.Errorf("CPU %d: its bursts last %.3f s, and it was busy for %.3f s", cpu.Number, sum, want)
				}
			}
			if err := r.WriteBursts(&bytes.Buffer{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// At any rate of switches, what is taken stays within the budget as long as the least share does.
func TestBudgetHolds(t *testing.T) {
	for _, rate := range []float64{0, 100, 1e4, 44e3, 1e5, 3e5} {
		for _, busy := range []float64{0.01, 1, 2, 64} {
			b := newBudget(DefaultBudget)
			b.on, b.off, b.reader = 500, 40, 50
			b.learn(rate, busy)
			d := b.duty()
			off := b.off
			if b.detached() {
				off = 0
			}
			takes := rate * (d*(b.on+b.reader) + (1-d)*off) / 1e9
			if limit := DefaultBudget * max(1, busy); takes > limit*1.001 && d > leastDuty {
				t.Errorf("%g switches/s on %g CPUs: %g of %g with duty %g", rate, busy, takes, limit, d)
			}
			if rate <= 100 && d != 1 {
				t.Errorf("%g switches/s on %g CPUs: duty %g", rate, busy, d)
			}
			var window, all time.Duration
			for range 2000 {
				w, p := b.next()
				window, all = window+w, all+w+p
				if w > cycle || d < 1 && (w < shortest/2 || w > longest*3/2) {
					t.Fatalf("a window of %s", w)
				}
			}
			if share := float64(window) / float64(all); share/d < 0.93 || share/d > 1.07 {
				t.Errorf("windows cover %g, duty is %g", share, d)
			}
		}
	}
}

// Quantiles of any value are within 7 % of it, from 128 ns to 8 s.
func TestQuantile(t *testing.T) {
	for b := 1; b < buckets-1; b++ {
		var l Latency
		hist := make([]uint32, buckets)
		hist[b] = 10
		l.add(hist, 10)
		got := l.Quantile(0.5)
		for _, v := range []float64{edge(b), edge(b + 1)} {
			if math.Abs(got/v-1) > 0.07 {
				t.Errorf("class %d: %g for %g", b, got, v)
			}
		}
	}
	var l Latency
	if !math.IsNaN(l.Quantile(0.5)) || !math.IsNaN(l.Mean()) {
		t.Error("none has a quantile")
	}
	hist := make([]uint32, buckets)
	hist[1], hist[100] = 99, 1
	l.add(hist, 1000)
	if l.N != 100 || l.Quantile(0.5) > edge(2) || l.Quantile(0.999) < edge(100) {
		t.Errorf("%+v", l)
	}
}

// One long time among short ones says little of what they sum up to.
func TestBetween(t *testing.T) {
	var l Latency
	hist := make([]uint32, buckets)
	hist[60], hist[150] = 100, 1 // of 21 us, and of 54 ms
	l.add(hist, 0)
	short := (edge(60) + edge(61)) / 2
	sum, spread := l.Between(0, 1e-3)
	if want := 100*short + 1e-3; math.Abs(sum/want-1) > 1e-9 {
		t.Errorf("sum %g, want %g", sum, want)
	}
	if want := math.Hypot(10*short, 1e-3); math.Abs(spread/want-1) > 1e-9 {
		t.Errorf("spread %g, want %g", spread, want)
	}
	if sum, spread = l.Between(short, 1e-3); sum-2*spread > 0 {
		t.Errorf("beyond the short ones lies %g, +- %g", sum, spread)
	}
}
