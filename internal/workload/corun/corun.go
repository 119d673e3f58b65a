// Package corun is the workload of two threads on two CPUs: one takes a lock over
// and over, the other does something that may disturb it. Which CPUs they have
// tells what siblings on one core, shared caches and distance cost.
package corun

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hostlab/internal/workload"
	"hostlab/internal/workload/worker"
)

// Workload implements workload.Workload.
type Workload struct{}

// Describe implements workload.Workload.
func (Workload) Describe() workload.Description {
	return workload.Description{
		Name:  "corun",
		Title: "a lock-taking thread beside another that may disturb it",
		About: "A pinned thread takes and releases a spin lock that nobody else wants, while another, pinned elsewhere, scans memory, fills execution " +
			"ports or waits. Compared with the same beside nothing, and on other CPUs, it tells whether siblings of a core cost each other, and " +
			"whether through caches or through execution units. With the antagonist lock both want the same lock. It shows the extremes, not what " +
			"a mixed load sees.",
		Params: []workload.Param{
			{Name: "lock_cpu", Kind: workload.Int, Default: int64(0), Max: 1 << 16, Help: "number of the CPU of the lock-taking thread"},
			{Name: "other_cpu", Kind: workload.Int, Default: int64(1), Max: 1 << 16, Help: "number of the CPU of the other"},
			{Name: "antagonist", Kind: workload.String, Default: Scan, Choices: antagonists, Help: "what the other does"},
			{Name: "scan_size", Kind: workload.Bytes, Default: int64(2 << 20), Min: 128, Max: 1 << 30, Help: "memory that a scan overwrites"},
			{Name: "touch", Kind: workload.Bool, Default: false, Help: "the lock protects a counter, which is written; else nothing"},
			{Name: "duration", Kind: workload.Duration, Default: 250 * time.Millisecond, Min: 1e-3, Max: maxSeconds, Help: "of the measured stretch"},
			{Name: "warm_up", Kind: workload.Duration, Default: 100 * time.Millisecond, Min: 1e-3, Max: 60, Help: "before it"},
		},
		Responses: []workload.Response{
			{Name: "lock_rate", Title: "Acquisitions per second", Unit: "1/s", Better: "higher"},
			{Name: "spins_per_lock", Title: "Polls that found the lock held, per acquisition", Unit: "", Better: "lower"},
			{Name: "other_rate", Title: "The other thread's rounds per second", Unit: "1/s", Better: "higher"},
			{Name: "scan_rate", Title: "Memory that the scan overwrote per second", Unit: "B/s", Better: "higher"},
		},
	}
}

// Validate implements workload.Validator.
func (Workload) Validate(cfg workload.Config) error { return apart(cfg.Params) }

func apart(p workload.Values) error {
	if p.String("antagonist") != None && p.Int("lock_cpu") == p.Int("other_cpu") {
		return &workload.ParamError{Name: "other_cpu", Text: fmt.Sprintf("both threads are to run on CPU %d", p.Int("lock_cpu")),
			Hint: "spinning threads that share a CPU only wait for each other: name another, or antagonist none"}
	}
	return nil
}

// Open implements workload.Workload.
func (w Workload) Open(ctx context.Context, cfg workload.Config) (workload.Session, error) {
	if err := w.Validate(cfg); err != nil {
		return nil, err
	}
	s := &session{worker: worker.Kept{Job: job}}
	c := cellOf(cfg.Params)
	c.Seconds, c.WarmUp = 0.001, 0.001 // starts the worker, and tells whether the CPUs can be used
	if _, err := s.call(ctx, c); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

type session struct{ worker worker.Kept }

func cellOf(p workload.Values) Cell {
	c := Cell{CPUs: []int{int(p.Int("lock_cpu"))}, Antagonist: p.String("antagonist"), Seconds: p.Duration("duration").Seconds(),
		WarmUp: p.Duration("warm_up").Seconds(), Scan: int(p.Int("scan_size")), Touch: p.Bool("touch")}
	if c.Antagonist != None {
		c.CPUs = append(c.CPUs, int(p.Int("other_cpu")))
	}
	return c
}

func (s *session) call(ctx context.Context, c Cell) ([]Side, error) {
	var r reply
	if err := s.worker.Call(ctx, 2, c, &r); err != nil {
		return nil, err
	}
	if r.Gone != "" {
		name := "lock_cpu"
		if len(c.CPUs) > 1 && strings.HasPrefix(strings.ReplaceAll(r.Gone, ":", " "), fmt.Sprintf("CPU %d ", c.CPUs[1])) {
			name = "other_cpu"
		}
		return nil, &workload.ParamError{Name: name, Text: r.Gone, Hint: "`hostlab facts` lists those that are there"}
	}
	if len(r.Sides) != len(c.CPUs) {
		return nil, fmt.Errorf("the worker answered for %d CPUs of %d", len(r.Sides), len(c.CPUs))
	}
	return r.Sides, nil
}

// waitedShare is the share of a cell's time that a thread may wait for others
// before it is said.
const waitedShare = 0.02

// Run implements workload.Session.
func (s *session) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	if err := apart(r.Params); err != nil {
		return out, err
	}
	c := cellOf(r.Params)
	sides, err := s.call(ctx, c)
	if err != nil {
		return out, err
	}
	return sample(c, sides)
}

func sample(c Cell, sides []Side) (out workload.Sample, err error) {
	lock := sides[0]
	if lock.Locked == 0 || !(lock.Wall > 0) {
		return out, fmt.Errorf("the thread on CPU %d did not take the lock once in %g s: the CPU is taken by others", c.CPUs[0], c.Seconds)
	}
	out = workload.Sample{Operations: int64(lock.Locked), Missing: map[string]string{}, Values: map[string]float64{
		"lock_rate": float64(lock.Locked) / lock.Wall, "spins_per_lock": float64(lock.Spins) / float64(lock.Locked)}}
	if len(sides) > 1 {
		out.Values["other_rate"] = float64(sides[1].Rounds) / sides[1].Wall
	} else {
		out.Missing["other_rate"] = "there is no other thread"
	}
	if c.Antagonist == Scan {
		out.Values["scan_rate"] = out.Values["other_rate"] * float64(c.Scan)
	} else {
		out.Missing["scan_rate"] = "nothing scans"
	}
	for i, s := range sides {
		if s.HasWaited && s.Waited > waitedShare*s.Wall {
			out.Warnings = append(out.Warnings, fmt.Sprintf("the thread on CPU %d waited %.0f %% of the time for other work there", c.CPUs[i], 100*s.Waited/s.Wall))
		}
	}
	return out, nil
}

// Close implements workload.Session.
func (s *session) Close() error { return s.worker.Close() }
