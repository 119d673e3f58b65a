package scanlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hostlab/internal/neighbours"
	"hostlab/internal/workload"
	"hostlab/internal/workload/worker"
)

// Open implements workload.Workload.
func (w Workload) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	if err := w.Validate(cfg); err != nil {
		return nil, err
	}
	m, err := machineOf(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &session{site: newSite(m, cfg.Params), thrower: worker.Kept{Job: distanceJob}}
	c, _ := parseCell(cfg.Params.String("cell"))
	if _, err := s.cells(c, cfg.Params); err != nil {
		return nil, err
	}
	return s, nil
}

type session struct {
	site
	thrower worker.Kept
}

// Close implements workload.Session.
func (s *session) Close() error { return s.thrower.Close() }

// Run implements workload.Session.
func (s *session) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}
	c, err := parseCell(r.Params.String("cell"))
	if err != nil {
		return out, err
	}
	here := site{s.m, s.victim}
	if v := r.Params.Int("victim"); v >= 0 {
		here.victim = int(v)
	}
	cells, err := here.cells(c, r.Params)
	if err != nil {
		return out, err
	}
	m := measured{site: here, name: c}
	a, b := here.ends(cells[0])
	if b >= 0 {
		if m.before, err = s.distance(ctx, a, b); err != nil {
			return out, err
		}
	}
	for _, cell := range cells {
		stretch, err := measure(ctx, cell, r.Params.Duration("warm_up"), r.Params.Duration("duration"))
		if err != nil {
			return out, err
		}
		m.stretches = append(m.stretches, stretch)
	}
	if b >= 0 {
		if m.after, err = s.distance(ctx, a, b); err != nil {
			return out, err
		}
	}
	return m.sample()
}

// ends are the two CPUs whose distance is watched: the victim and the other, or in
// the rotation the victim and the nearest; b is -1 where the victim is alone.
func (s site) ends(c Cell) (a, b int) {
	if siblings := s.m.Siblings(s.victim); len(c.Threads) > 2 && len(siblings) > 0 {
		return s.victim, siblings[0]
	}
	for _, t := range c.Threads {
		if t.CPU != s.victim {
			return s.victim, t.CPU
		}
	}
	return s.victim, -1
}

// stretch is what the threads of a cell did while they were measured.
type stretch struct {
	cell     Cell
	seconds  float64
	counts   []Count // differences, in the order of Cell.Threads
	steal    float64 // seconds that the hypervisor took of their CPUs, as far as the clock's ticks tell
	hasLoads bool
}

// measure runs a cell and reads its counters after the warm-up and at the end.
func measure(ctx context.Context, c Cell, warmUp, duration time.Duration) (out stretch, err error) {
	s, err := Start(ctx, c)
	if err != nil {
		return out, either(ctx, err)
	}
	defer func() {
		if closed := s.Close(); err == nil && closed != nil {
			err = either(ctx, closed)
		}
	}()
	var cpus []int
	for _, t := range c.Threads {
		cpus = append(cpus, t.CPU)
	}
	if err := wait(ctx, s, warmUp); err != nil {
		return out, err
	}
	loads, okBefore := neighbours.Read(cpus)
	before, err := s.Snapshot()
	if err != nil {
		return out, either(ctx, err)
	}
	if err := wait(ctx, s, duration); err != nil {
		return out, err
	}
	after, err := s.Snapshot()
	if err != nil {
		return out, either(ctx, err)
	}
	now, okAfter := neighbours.Read(cpus)
	out = stretch{cell: c, seconds: (after.At - before.At).Seconds(), hasLoads: okBefore && okAfter}
	if len(before.Counts) != len(c.Threads) || len(after.Counts) != len(c.Threads) || out.seconds <= 0 {
		return out, fmt.Errorf("the worker answered for %d threads of %d over %g s", len(after.Counts), len(c.Threads), out.seconds)
	}
	for i := range c.Threads {
		out.counts = append(out.counts, after.Counts[i].since(before.Counts[i]))
	}
	for cpu, l := range now {
		out.steal += l.Steal - loads[cpu].Steal
	}
	return out, nil
}

// since subtracts an earlier reading.
func (c Count) since(b Count) Count {
	c.Acquisitions -= b.Acquisitions
	c.Spins -= b.Spins
	c.Rounds -= b.Rounds
	c.CPUTime -= b.CPUTime
	c.Waited -= b.Waited
	c.HasCPU = c.HasCPU && b.HasCPU
	c.HasWaited = c.HasWaited && b.HasWaited
	return c
}

// wait waits while the worker runs, and tells when it does not.
func wait(ctx context.Context, s *Session, d time.Duration) error {
	end := time.NewTimer(d)
	defer end.Stop()
	look := time.NewTicker(500 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-end.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
			if err := s.Check(); err != nil {
				return either(ctx, err)
			}
		}
	}
}

// either is ctx's error where it ended: the worker died of that.
func either(ctx context.Context, err error) error {
	if cerr := ctx.Err(); cerr != nil && !errors.Is(err, cerr) {
		return cerr
	}
	return err
}
