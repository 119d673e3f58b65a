package model

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"

	"golang.org/x/sync/errgroup"
)

func (o Options) withDefaults() Options {
	o.Replications = cmp.Or(o.Replications, 10)
	o.Precision = cmp.Or(o.Precision, 0.01)
	o.Events = cmp.Or(o.Events, 4_000_000)
	o.Workers = cmp.Or(o.Workers, runtime.NumCPU())
	o.target = cmp.Or(o.target, StepTime)
	o.Level = cmp.Or(o.Level, 0.95)
	return o
}

func (o Options) validate() error {
	if o.Replications < 2 || o.Replications > 10000 {
		return fmt.Errorf("replications is %d; it must be 2 to 10000", o.Replications)
	}
	if o.Steps < 0 || o.Steps > 1e9 {
		return fmt.Errorf("steps is %d; it must be 0 (chosen) to 1e+09", o.Steps)
	}
	if err := between("precision", o.Precision, 1e-5, 1, ""); err != nil {
		return err
	}
	return between("level", o.Level, 0.5, 0.9999, "")
}

// Simulate runs one case. Errors name the key and the range of what is invalid;
// an open workload that would be unstable under the policy gives an
// *UnstableError. Deterministic for a case and Options, whatever Workers is.
func Simulate(ctx context.Context, c Case, o Options) (Outcome, error) {
	o = o.withDefaults()
	out, err := simulateGroups(ctx, [][]Case{{c}}, o)
	if err == nil {
		err = out[0][0].err
	}
	if err != nil {
		return Outcome{}, err
	}
	return outcome(out[0][0], o), nil
}

type run struct {
	c      Case
	scale  float64 // Batch: work of a job over the part of it that is simulated
	g      governor
	plan   plan
	reps   []replicate
	err    error // this case cannot be simulated; others can
	events int64
}

// simulateGroups simulates groups of cases; those of a group are to be compared with its
// first one: with the same random numbers and the same number of steps. It is the whole
// adaptive procedure: a pilot, and, when the intervals are too wide, one longer run of a
// length that the pilot's intervals ask for. Both depend on results only, so they are the
// same on any number of workers.
func simulateGroups(ctx context.Context, groups [][]Case, o Options) ([][]*run, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	out := make([][]*run, len(groups))
	var jobs []*run
	for i, cases := range groups {
		var valid []*run
		for _, c := range cases {
			r := &run{c: c, scale: part(cases[0], o)}
			if r.err = c.Validate(); r.err == nil {
				r.g, _ = compileGovernor(c.Policy, c.Machine)
				valid = append(valid, r)
			}
			out[i] = append(out[i], r)
		}
		p := pilot(valid, o)
		for _, r := range valid {
			r.plan = p
		}
		jobs = append(jobs, valid...)
	}
	if err := replicateAll(ctx, jobs, o); err != nil {
		return nil, err
	}
	if o.Steps > 0 {
		return out, nil
	}
	jobs = jobs[:0]
	for _, group := range out {
		p, longer := lengthen(group, o)
		if !longer {
			continue
		}
		for _, r := range group {
			if r.err == nil {
				r.plan = p
				jobs = append(jobs, r)
			}
		}
	}
	return out, replicateAll(ctx, jobs, o)
}

// part is the factor by which a long batch job is shortened: a job repeats slices
// and waits, so a part of it stands for the whole, and its figures are scaled up.
func part(c Case, o Options) float64 {
	const eventsPerSlice = 10 // start, end, wake-up and some checks
	w := c.Workload
	if w.Kind != Batch {
		return 1
	}
	slices := w.Work / w.Slice.Mean * float64(w.Users)
	allowed := max(2000*float64(w.Users), float64(o.Events)/float64(o.Replications)/eventsPerSlice)
	return max(1, slices/allowed)
}

func replicateAll(ctx context.Context, jobs []*run, o Options) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(o.Workers)
	for _, r := range jobs {
		r.reps = make([]replicate, o.Replications)
		for i := range r.reps {
			g.Go(func() error {
				var err error
				r.reps[i], err = r.replicate(ctx, o.Seed, i)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, r := range jobs {
		r.events = 0
		for _, p := range r.reps {
			r.events += p.events
			if p.broken {
				r.err = &UnstableError{Policy: r.c.Policy.Name, Load: r.c.Load, Capacity: math.NaN()}
			}
		}
	}
	return nil
}

// chunk is the number of events between looks at the context: a few hundredths of
// a second.
const chunk = 1 << 16

func (r *run) replicate(ctx context.Context, seed uint64, i int) (replicate, error) {
	if err := ctx.Err(); err != nil {
		return replicate{}, err
	}
	c := r.c
	if n := len(c.Samples); n > 0 {
		c.Workload = c.Samples[i%n]
	}
	c.Workload.Work /= r.scale
	s := newSim(c, r.g, seed, i)
	s.meter.warmUp, s.meter.steps = r.plan.warmUp, r.plan.steps
	for !s.done {
		before := s.events
		s.run(before + chunk)
		if s.events == before {
			break
		}
		if err := ctx.Err(); err != nil {
			return replicate{}, err
		}
	}
	return s.meter.result(r.scale), nil
}

func samples(reps []replicate, r Response) []float64 {
	var x []float64
	for _, p := range reps {
		if v, ok := p.values[r]; ok {
			x = append(x, v)
		}
	}
	return x
}

// Purpose names what random numbers are for. Each purpose and each process has a
// stream of its own, and none belongs to a policy: two policies that are simulated
// with the same seed see the same arrivals, work and waits (common random numbers).
type Purpose uint64

// Stream returns the stream of a purpose and an index (a process, a CPU) in one
// replication. Equal arguments give equal numbers. PCG streams that differ in a bit of their
// seeds start correlated, so the seeds go through SplitMix64's mixer
// (Steele, Lea and Flood 2014).
func Stream(seed uint64, replication int, p Purpose, index int) *rand.Rand {
	a := mix(seed + 0x9e3779b97f4a7c15*uint64(replication+1))
	b := mix(a ^ uint64(p)<<48 ^ uint64(index))
	return rand.New(rand.NewPCG(b, mix(b+0x9e3779b97f4a7c15)))
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
