package scanlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hostlab/internal/cpus"
	"hostlab/internal/proc"
	"hostlab/internal/thread"
	"hostlab/internal/worker"
	"hostlab/internal/workload"
)

func (w Workload) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	if err := w.Validate(cfg); err != nil {
		return nil, err
	}
	m, now, err := machineOf(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &session{cfg: cfg, m: m, seen: now, chosen: -1, thrower: worker.Kept{Job: distanceJob}}
	if known := cfg.Machine; known.Topology != nil {
		s.chosen = cpus.New(known.Topology, known.Allowed, known.Measured).Victim()
	}
	c, _ := parseCell(cfg.Params.String("cell"))
	if _, err := s.site(cfg.Params).cells(c, cfg.Params); err != nil {
		return nil, err
	}
	return s, nil
}

type session struct {
	cfg     workload.Config
	m       *cpus.Machine
	seen    []int // the CPUs that could be used when m was made
	chosen  int   // the victim of all runs that name none; -1: to be chosen
	thrower worker.Kept
}

// site is the machine as it is now, as seen from the victim of a run. Runs that name
// none have the same one, as long as it is there, also where a level of the study has
// taken its sibling away.
func (s *session) site(p workload.Values) site {
	here := newSite(s.m, p)
	if p.Int("victim") < 0 {
		if !s.m.Has(s.chosen) {
			s.chosen = here.victim
		}
		here.victim = s.chosen
	}
	return here
}

// look sees to it that CPUs which went offline or came back since are known.
func (s *session) look(ctx context.Context) error {
	now, err := thread.Allowed()
	if err != nil || slices.Equal(now, s.seen) {
		return err
	}
	s.m, s.seen, err = machineOf(ctx, s.cfg)
	return err
}

func (s *session) Close() error { return s.thrower.Close() }

func (s *session) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}
	c, err := parseCell(r.Params.String("cell"))
	if err != nil {
		return out, err
	}
	if err := s.look(ctx); err != nil {
		return out, err
	}
	here := s.site(r.Params)
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
		stretch, err := measure(ctx, cell, here.idleSiblings(cell), r.Params.Duration("warm_up"), r.Params.Duration("duration"))
		if err != nil {
			return out, err
		}
		m.stretches = append(m.stretches, stretch)
	}
	if b >= 0 {
		// One odd reading moves no CPU: what has moved stays where it is.
		for try := 0; try == 0 || try < 3 && m.moved(); try++ {
			if m.after, err = s.distance(ctx, a, b); err != nil {
				return out, err
			}
		}
	}
	return m.sample()
}

// ends are the two CPUs whose distance is watched: the victim and the other, or in
// the rotation and where the victim is alone the victim and the nearest, so that the
// baseline is watched as the cells that are compared with it; b is -1 where there is
// no other.
func (s site) ends(c Cell) (a, b int) {
	if len(c.Threads) != 2 {
		for _, place := range []string{cpus.Sibling, cpus.Core} {
			if cpu, why := s.m.Find(s.victim, place); why == "" {
				return s.victim, cpu
			}
		}
	}
	for _, t := range c.Threads {
		if t.CPU != s.victim {
			return s.victim, t.CPU
		}
	}
	return s.victim, -1
}

// idleSiblings are the CPUs on the cores of a cell's threads on which none of them
// runs: what others do there slows the threads, and no counter of theirs shows it.
func (s site) idleSiblings(c Cell) (out []int) {
	for _, t := range c.Threads {
		for _, cpu := range s.m.Threads(t.CPU) {
			if !slices.ContainsFunc(c.Threads, func(o Thread) bool { return o.CPU == cpu }) && !slices.Contains(out, cpu) {
				out = append(out, cpu)
			}
		}
	}
	return out
}

// stretch is what the threads of a cell did while they were measured.
type stretch struct {
	cell     Cell
	seconds  float64
	counts   []Count // differences, in the order of Cell.Threads
	steal    float64 // seconds that the hypervisor took of their CPUs, as far as the clock's ticks tell
	hasLoads bool
	beside   map[int]float64 // seconds that others ran on siblings of these CPUs, as far as the clock's ticks tell
}

// measure runs a cell and reads its counters after the warm-up and at the end.
func measure(ctx context.Context, c Cell, idle []int, warmUp, duration time.Duration) (out stretch, err error) {
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
	pause := func(d time.Duration) error {
		_, err := wait(ctx, s, time.Now().Add(d))
		return either(ctx, err)
	}
	if err := pause(warmUp); err != nil {
		return out, err
	}
	loads, okBefore := proc.Loads(append(slices.Clip(cpus), idle...))
	own := proc.Own()
	before, err := s.Snapshot()
	if err != nil {
		return out, either(ctx, err)
	}
	if err := pause(duration); err != nil {
		return out, err
	}
	after, err := s.Snapshot()
	if err != nil {
		return out, either(ctx, err)
	}
	now, okAfter := proc.Loads(append(slices.Clip(cpus), idle...))
	own = proc.Own() - own
	out = stretch{cell: c, seconds: (after.At - before.At).Seconds(), hasLoads: okBefore && okAfter}
	if len(before.Counts) != len(c.Threads) || len(after.Counts) != len(c.Threads) || out.seconds <= 0 {
		return out, fmt.Errorf("the worker answered for %d threads of %d over %g s", len(after.Counts), len(c.Threads), out.seconds)
	}
	for i := range c.Threads {
		out.counts = append(out.counts, after.Counts[i].since(before.Counts[i]))
	}
	for _, cpu := range cpus {
		out.steal += now[cpu].Steal - loads[cpu].Steal
	}
	for _, cpu := range idle {
		if !out.hasLoads {
			break
		}
		b, a := loads[cpu], now[cpu]
		if out.beside == nil {
			out.beside = map[int]float64{}
		}
		// This process may run there; the worker's threads do not.
		out.beside[cpu] = a.Busy - b.Busy + a.Steal - b.Steal - own
	}
	return out, nil
}

// since subtracts an earlier reading.
func (c Count) since(b Count) Count {
	c.Acquisitions -= b.Acquisitions
	c.Spins -= b.Spins
	c.Rounds -= b.Rounds
	c.Bytes -= b.Bytes
	c.CPUTime -= b.CPUTime
	c.Waited -= b.Waited
	c.HasCPU = c.HasCPU && b.HasCPU
	c.HasWaited = c.HasWaited && b.HasWaited
	return c
}

// either is ctx's error where it ended: the worker died of that.
func either(ctx context.Context, err error) error {
	if cerr := ctx.Err(); cerr != nil && !errors.Is(err, cerr) {
		return cerr
	}
	return err
}
