package trace

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

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
// fills
// the CPU's own gaps. Bursts that were all sampled stay as they are.
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
