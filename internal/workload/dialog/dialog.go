// Package dialog is the workload of an application server's work processes: steps
// that compute in slices with waits for the database between them. It shows what
// clocks, idle states and placement cost at a load, and can put a governor's rule in
// the place of the host's clock.
package dialog

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"hostlab/internal/cpus"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/worker"
	"hostlab/internal/workload"
)

type Workload struct {
	workload.Usual
	cpus.Placed
}

// Params are the workload's parameters.
type Params struct {
	// slices of a step
	Slices int `toml:"slices" jsonschema:"minimum=1,maximum=10000"`
	// mean CPU time of a slice at full speed
	Slice workload.Span `toml:"slice" limits:"0.00002,60"`
	// all slices alike, or exponential
	SliceDist string `toml:"slice_dist" jsonschema:"enum=fixed,enum=exp"`
	// mean wait for the database between two slices
	Wait workload.Span `toml:"wait" limits:"0,60"`
	// all waits alike, or exponential
	WaitDist string `toml:"wait_dist" jsonschema:"enum=fixed,enum=exp"`
	// closed loop of so many users; 0: one for each CPU, or open with load
	Users int `toml:"users" jsonschema:"minimum=0,maximum=100000"`
	// mean time between the steps of a user
	Think workload.Span `toml:"think" limits:"0,600"`
	// all alike, or exponential
	ThinkDist string `toml:"think_dist" jsonschema:"enum=fixed,enum=exp"`
	// open Poisson arrivals, share of the CPUs at full speed, 0.05 to 0.95; 0: closed
	Load float64 `toml:"load" jsonschema:"minimum=0,maximum=0.95"`
	// a slice takes the next idle CPU, or the lowest-numbered one
	Placement string `toml:"placement" jsonschema:"enum=spread,enum=packed"`
	// all that this process may use, one-per-core of these (one thread of each core), or a list such as 0-3,8
	CPUs string `toml:"cpus"`
	// in which measured steps start
	Duration workload.Span `toml:"duration" limits:"0.01,3600"`
	// before it; its steps are not counted
	WarmUp workload.Span `toml:"warm_up" limits:"0,600"`
	// none: the host's own clock; else emulated: high-performance, balanced-rs1, balanced-rs2, power-saver, ondemand,
	// schedutil, fixed:PERCENT
	Policy string `toml:"policy"`
	// emulated: lowest speed, share of full speed; there are states every 5 %
	Floor float64 `toml:"floor" jsonschema:"minimum=0.05,maximum=1"`
	// emulated: check interval of the governor; 0: its own
	Check workload.Span `toml:"check" limits:"0,5"`
}

func (Workload) Describe() workload.Description {
	return workload.Description{
		Name:  "dialog",
		Title: "steps of an application server: slices of CPU work with database waits between",
		About: "A thread is pinned to each CPU. Users, or open arrivals at a load, start steps; each slice of a step takes an idle " +
			"CPU, or waits in one queue, and does a fixed number of operations, whose time at full speed was measured once. Waits for " +
			"the database are asleep. Step times count from the intended start. With a policy, the clock of each CPU is emulated: after " +
			"every 500 us of work a spin adds what that governor's frequency would have cost, and a CPU's frequency is its own; the " +
			"spins count as CPU time. Such runs are evidence \"emulated\", on any host and without a privilege.",
		Params: &Params{Slices: 1, Slice: workload.Seconds(0.02), SliceDist: fixed, WaitDist: fixed, ThinkDist: fixed,
			Placement: "spread", CPUs: cpus.All, Duration: workload.Seconds(2), Policy: none, Floor: 0.5},
		Responses: []workload.Response{
			{Name: "step_mean", Title: "Mean step", Unit: "s", Better: "lower"},
			{Name: "step_p50", Title: "Median step", Unit: "s", Better: "lower"},
			{Name: "step_p95", Title: "95th percentile of a step", Unit: "s", Better: "lower"},
			{Name: "step_p99", Title: "99th percentile of a step", Unit: "s", Better: "lower"},
			{Name: "cpu_s", Title: "CPU time of a step, with what a slow clock adds", Unit: "s", Better: "lower"},
			{Name: "throughput", Title: "Steps per second", Unit: "1/s", Better: "higher"},
			{Name: "wait_s", Title: "Mean time that a step waited for a CPU", Unit: "s", Better: "lower"},
			{Name: "late_s", Title: "Median delay of a slice on an idle CPU", Unit: "s", Better: "lower"},
			{Name: "demand_s", Title: "CPU work asked for by a step, at full speed", Unit: "s", Better: "lower"},
		},
	}
}

// chosen reads which CPUs. Whether those of a list are there is seen when they are used.
func chosen(text string) ([]int, error) {
	if text != cpus.All && text != cpus.OnePerCore {
		return cpus.List("cpus", text)
	}
	here, err := cpus.Here(context.Background())
	if err != nil {
		return nil, err
	}
	return here.Choose("cpus", text)
}

func (Workload) Validate(cfg workload.Config) error {
	given := cfg.Params.(*Params)
	p, err := planOf(given)
	if err != nil {
		return err
	}
	if len(cfg.Factors) == 0 { // in a study, a level may be what gives it an effect
		if err := idle(given); err != nil {
			return err
		}
	}
	if p.Policy != "" && cfg.Evidence == result.Measured {
		return workload.Wrong("policy", given.Policy+
			" emulates a clock, and this study says that it measures this host's own",
			`write evidence = "emulated" under [study]`)
	}
	return nil
}

// idle refuses parameters that have no effect beside the others.
func idle(v *Params) error {
	unset := Workload{}.Describe().Params
	for _, c := range []struct {
		is    bool
		names []string
		text  string
		hint  string
	}{
		{v.Load > 0, []string{"think", "think_dist"}, "users think, and arrivals with a load have none",
			"leave out one of it and load"},
		{v.Think.Duration == 0, []string{"think_dist"}, "users do not think", "give think too"},
		{v.Wait.Duration == 0, []string{"wait_dist"}, "there is no wait", "give wait too"},
		{v.Policy == none, []string{"floor", "check"}, "it is of an emulated clock, and this is the host's own",
			"give a policy too"},
	} {
		for _, name := range c.names {
			if c.is && workload.Value(v, name) != workload.Value(unset, name) {
				return workload.Wrong(name, "it has no effect: "+c.text, c.hint)
			}
		}
	}
	return nil
}

func (w Workload) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	if err := w.Validate(cfg); err != nil {
		return nil, err
	}
	p, err := planOf(cfg.Params.(*Params))
	if err != nil {
		return nil, err
	}
	s := &session{worker: worker.Kept{Job: job}, labelled: cfg.Evidence == result.Emulated}
	p.Rate = 0
	r, err := s.call(ctx, p)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.rate = r.Rate; !(s.rate > 1e6) {
		return nil, errors.Join(fmt.Errorf(
			"CPU %d does %.3g additions a second, which no processor does: others have it nearly to "+
				"themselves; take other cpus", p.CPUs[0], r.Rate), s.Close())
	}
	return s, nil
}

type session struct {
	worker   worker.Kept
	rate     float64 // operations a second at full speed
	labelled bool    // the study says that it is emulated
}

func (s *session) call(ctx context.Context, p plan) (r reply, err error) {
	return r, cpus.Unusable("cpus", s.worker.Call(ctx, len(p.CPUs), p, &r))
}

func (s *session) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	p, err := planOf(r.Params.(*Params))
	if err != nil {
		return out, err
	}
	p.Rate, p.Seed = s.rate, r.Seed
	got, err := s.call(ctx, p)
	if err != nil {
		return out, err
	}
	if out, err = sample(got); err != nil {
		return out, err
	}
	if p.Policy != "" && !s.labelled {
		out.Warnings = append(out.Warnings, fmt.Sprintf("emulated: the clock is that of %s in user space, not this host's",
			p.Policy))
	}
	return out, nil
}

func (s *session) Close() error { return s.worker.Close() }

// sample turns a run into responses.
func sample(r reply) (out workload.Sample, err error) {
	n := len(r.Step)
	if n == 0 {
		return out, fmt.Errorf("no step began in the duration; make it longer, or think and wait shorter")
	}
	out = workload.Sample{Operations: int64(n), Done: int64(r.Steps), Latency: workload.Distribution("step", r.Step),
		Values: map[string]float64{
			// a sum does not depend on which step ended first
			"throughput": float64(n) / r.Span, "wait_s": stats.Mean(r.Waited),
			"demand_s": stats.Mean(slices.Sorted(slices.Values(r.Demand)))}}
	workload.SomeLatency(&out, "step_", "step", r.Step, "mean", "p50", "p95", "p99")
	switch {
	case r.HasCPU:
		out.Set("cpu_s", stats.Mean(r.CPU))
	case r.Process > 0:
		out.Set("cpu_s", r.Process)
	default:
		out.Lack("this system does not tell the CPU time of a thread closely enough", "cpu_s")
	}
	switch {
	case runtime.GOOS != "linux":
		out.Lack("this system does not wake threads closely enough to tell", "late_s")
	case len(r.Late) == 0:
		out.Lack("no slice found an idle CPU", "late_s")
	default:
		out.Set("late_s", stats.Median(r.Late))
	}
	return out, nil
}
