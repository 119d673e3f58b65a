// This file makes up days.

package watch_test

import (
	"math"
	"math/rand/v2"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/watch"
)

// Day is a made-up recording: a quiet night, then load.
type Day struct {
	CPUs     int
	Interval time.Duration
	Night    time.Duration
	Load     time.Duration
	Busy     float64 // share of all CPUs under load
	// Awake returns which CPUs may get work, so long after load began; nil: all.
	Awake func(since time.Duration, cpus int) int
	// Clock returns the frequency of busy CPUs as a share of the highest; nil: 1.
	Clock func(since time.Duration) float64
	// Sessions, if not 0, is how many CPUs are fully busy at a time in place of Busy. They
	// move every so often, or never if Stay is 0.
	Sessions int
	Stay     time.Duration
	Waits    float64 // pressure under load
	Bare     bool    // no frequency, no idle states, no pressure, as in a cloud guest
	Start    time.Time
}

// Write returns the record of a day, the same for the same seed.
func (d Day) Write(seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	if d.Start.IsZero() {
		d.Start = time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC)
	}
	info := watch.Info{Hostname: "made", Highest: map[int]float64{}, States: map[int][]watch.IdleState{}}
	first := watch.Reading{At: d.Start}
	for c := range d.CPUs {
		first.CPUs = append(first.CPUs, watch.CPUReading{ID: c})
		if !d.Bare {
			info.Highest[c] = 3.5e9
			info.States[c] = []watch.IdleState{{Name: "POLL"}, {Name: "C1", Latency: 2e-6}, {Name: "C6", Latency: 133e-6}}
		}
	}
	h := watch.NewHead(info, first, d.Interval)
	out := watch.HeadLine(h)
	busy := make([]float64, d.CPUs)
	order := rng.Perm(d.CPUs)
	var moved time.Duration
	for t := d.Interval; t <= d.Night+d.Load; t += d.Interval {
		since := t - d.Night
		awake := d.CPUs
		clear(busy)
		switch {
		case since <= 0:
			busy[rng.IntN(d.CPUs)] = min(0.3, 0.03*float64(d.CPUs)) * rng.Float64() // a cron job
		case d.Sessions > 0:
			if d.Stay > 0 && since-moved >= d.Stay {
				rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				moved = since
			}
			for _, c := range order[:d.Sessions] {
				busy[c] = 0.9 + 0.1*rng.Float64()
			}
		default:
			if d.Awake != nil {
				awake = min(d.CPUs, max(1, d.Awake(since, d.CPUs)))
			}
			each := min(1, d.Busy*float64(d.CPUs)/float64(awake))
			for c := range awake {
				busy[c] = min(1, max(0, each*(1+0.4*rng.NormFloat64())))
			}
		}
		s := watch.Sample{At: d.Start.Add(t), Seconds: d.Interval.Seconds()}
		clock := 1.0
		if d.Clock != nil && since > 0 {
			clock = d.Clock(since)
		}
		for c, b := range busy {
			cpu := watch.CPU{ID: c, User: 0.8 * b, System: 0.2 * b, Idle: 1 - b, Ratio: 0.4, Deep: 0.98 * (1 - b)}
			if b > 0.2 {
				cpu.Ratio, cpu.Deep = clock, 0.5*(1-b)
			}
			s.CPUs = append(s.CPUs, cpu)
		}
		for i := range s.Pressure {
			s.Pressure[i] = proc.Pressure{Some: math.NaN(), Full: math.NaN()}
			if !d.Bare {
				s.Pressure[i].Some = 0
			}
		}
		if since > 0 && !d.Bare {
			s.Pressure[0].Some = d.Waits
		}
		var err error
		if out, err = watch.AppendLine(out, h, s); err != nil {
			panic(err) // a mistake of this generator
		}
	}
	return out
}
