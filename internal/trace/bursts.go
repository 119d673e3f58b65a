package trace

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"hostlab/internal/model/burstlog"
	"hostlab/internal/result"
)

// WriteBursts writes the record that 'hostlab predict --workload' reads. It refuses one that
// lost too much.
func (r *Result) WriteBursts(w io.Writer) error {
	if err := r.Complete(); err != nil {
		return err
	}
	return (&burstlog.Sample{Head: r.head(), Bursts: r.Bursts}).Write(w)
}

// Record is what WriteBursts writes, as it is read.
func (r *Result) Record() (*burstlog.Record, error) {
	if err := r.Complete(); err != nil {
		return nil, err
	}
	return burstlog.New(r.head(), r.Bursts)
}

func (r *Result) head() burstlog.Head {
	head := burstlog.Head{Started: r.Started.UTC(), Source: "scheduler events", Length: r.Length, Seen: r.SeenShare(),
		Lost: r.Lost, Service: r.Target}
	for _, c := range r.CPUs {
		head.CPUs = append(head.CPUs, c.Number)
		head.Load += c.Busy / float64(len(r.CPUs))
	}
	head.Load = min(1, head.Load) // a sum of rounded shares
	return head
}

// Sample is what WriteBursts writes, of so many bursts at most. nil: there are none.
func (r *Result) Sample(most int, rng *rand.Rand) *burstlog.Sample {
	if len(r.Bursts) == 0 || !(r.SeenShare() > 0) {
		return nil
	}
	return burstlog.NewSample(r.head(), r.Bursts, most, rng)
}

// Complete is an error where the bursts make no record.
func (r *Result) Complete() error {
	if share := r.LostShare(); share > burstlog.MaxLost {
		return fmt.Errorf("%s of the bursts were lost, and at most %s may be: they are those of the busiest moments; record again", percent(share), percent(burstlog.MaxLost))
	}
	if len(r.Bursts) == 0 {
		return fmt.Errorf("no burst began in the %s that were watched; record for longer", result.Format(r.Seen, "s"))
	}
	return nil
}

// complete adds the bursts that no window saw begin and end, as those of a thread that never sleeps: they began before
// the recording, or last beyond it. A CPU's busy time in windows is counted in any case. What of it lies in no burst,
// and is more than the luck of windows explains, is put where the CPU has no burst.
func (r *Result) complete() {
	var all []burstlog.Burst
	seen := r.SeenShare()
	for i := range r.CPUs {
		c := &r.CPUs[i]
		own := r.of(c.Number)
		var busy, ran, luck float64
		for _, b := range own {
			busy, ran = busy+b.Busy, ran+b.Busy*b.Service
			luck += 2 * (1 - seen) * b.Busy * b.Busy
		}
		if left := c.Busy*r.Seen - busy; left > max(leastUnseen*r.Seen, 2*math.Sqrt(luck)) {
			own = filled(own, burstlog.Burst{CPU: c.Number, Busy: left, Service: unit((c.Run*r.Seen - ran) / left)}, r.Length)
		}
		c.Bursts = len(own)
		all = append(all, own...)
	}
	r.Bursts = all
}

// leastUnseen is the share of a CPU's time from which on it is looked for. Clocks are not read at one moment.
const leastUnseen = 0.01

func (r *Result) of(cpu int) []burstlog.Burst {
	compare := func(b burstlog.Burst, cpu int) int { return cmp.Compare(b.CPU, cpu) }
	from, _ := slices.BinarySearchFunc(r.Bursts, cpu, compare)
	to, _ := slices.BinarySearchFunc(r.Bursts, cpu+1, compare)
	return r.Bursts[from:to]
}

// filled adds a burst to those of its CPU, in as few parts as fit between them.
func filled(own []burstlog.Burst, b burstlog.Burst, length float64) []burstlog.Burst {
	var gaps []burstlog.Burst
	at := 0.0
	for _, next := range append(slices.Clone(own), burstlog.Burst{At: length}) {
		if gap := next.At - at; gap > 0 {
			gaps = append(gaps, burstlog.Burst{CPU: b.CPU, At: at, Busy: gap, Service: b.Service})
		}
		at = next.At + next.Busy + next.Idle
	}
	slices.SortStableFunc(gaps, func(a, b burstlog.Burst) int { return cmp.Compare(b.Busy, a.Busy) })
	out := slices.Clone(own)
	for _, g := range gaps {
		if b.Busy <= 0 {
			break
		}
		g.Busy = min(g.Busy, b.Busy)
		b.Busy -= g.Busy
		out = append(out, g)
	}
	slices.SortStableFunc(out, func(a, b burstlog.Burst) int { return cmp.Compare(a.At, b.At) })
	return out
}

func unit(x float64) float64 { return min(1, max(0, x)) }
