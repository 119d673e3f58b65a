package scanlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/worker"
)

const job = "scanlock"

// Jobs lists what this package's worker processes do.
func Jobs() []worker.Job {
	return []worker.Job{{Name: job, New: newServer}, {Name: distanceJob, New: newDistance}}
}

// request is what the parent asks for: Cell to start one, nothing to hear how far
// the threads are, or Read for a snapshot.
type request struct {
	Cell *Cell `json:"cell,omitempty"`
	Read bool  `json:"read,omitempty"`
}

type reply struct {
	Missing  *int      `json:"missing,omitempty"` // CPU of a thread that has not arrived
	Snapshot *Snapshot `json:"snapshot,omitempty"`
}

// newServer is the worker's side. Every request is answered at once.
func newServer() worker.Func {
	var w *crew
	running := false
	return worker.Handle(func(r request) (reply, error) {
		switch {
		case r.Cell != nil && w == nil:
			w = muster(*r.Cell)
		case r.Cell != nil || w == nil:
			return reply{}, errors.New("a worker runs one cell, and first of all")
		}
		if err := w.failure(); err != nil {
			return reply{}, err
		}
		if !running {
			if cpu, some := w.missing(); some {
				return reply{Missing: &cpu}, nil
			}
			w.run()
			running = true
		}
		if !r.Read {
			return reply{}, nil
		}
		s, err := w.snapshot()
		return reply{Snapshot: &s}, err
	})
}

const (
	settle   = 2 * time.Millisecond // between two looks whether all threads have arrived
	arrival  = 20 * time.Second     // of all threads on their CPUs, with their memory written once
	patience = 30 * time.Second     // for an answer, also of a worker that waits for a CPU
)

// Session is threads that run in a worker process. Close must be called.
type Session struct {
	ctx    context.Context // the caller's
	worker *worker.Session
	kill   context.CancelFunc
	wait   time.Duration // for an answer
}

// Start starts a worker process and the threads of a cell in it, which begin
// together. Errors name the CPU that cannot be used, and wrap thread.ErrNoCPU then.
// Cancelling ctx kills the worker.
func Start(ctx context.Context, c Cell) (*Session, error) {
	c, err := c.checked()
	if err != nil {
		return nil, err
	}
	life, kill := context.WithCancel(ctx)
	w, err := worker.Start(life, job, len(c.Threads))
	if err != nil {
		kill()
		return nil, err
	}
	s := &Session{ctx: ctx, worker: w, kill: kill, wait: patience}
	if err := s.arrive(c); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// arrive starts the threads and waits until all of them run.
func (s *Session) arrive(c Cell) error {
	r, err := s.ask(request{Cell: &c})
	for begin := time.Now(); err == nil && r.Missing != nil; r, err = s.ask(request{}) {
		if time.Since(begin) > arrival {
			return late(*r.Missing)
		}
		if err := proc.Sleep(s.ctx, settle); err != nil {
			return err
		}
	}
	return err
}

// late is the error of a thread that does not arrive.
func late(cpu int) error {
	return fmt.Errorf(
		"CPU %d: its thread did not get to run within %g s; something else holds that CPU, or memory is short", cpu,
		arrival.Seconds())
}

// Snapshot reads the counters while the threads run. A worker that does not answer is
// killed; one that died is reported with its reason.
func (s *Session) Snapshot() (Snapshot, error) {
	r, err := s.ask(request{Read: true})
	switch {
	case err != nil:
		return Snapshot{}, err
	case r.Snapshot == nil:
		return Snapshot{}, errors.New("the worker process answered without a snapshot")
	}
	return *r.Snapshot, nil
}

func (s *Session) ask(q request) (r reply, err error) {
	hung := time.AfterFunc(s.wait, s.kill)
	err = s.worker.Call(q, &r)
	switch {
	case s.ctx.Err() != nil:
		err = s.ctx.Err()
	case !hung.Stop():
		err = fmt.Errorf(
			"the worker process %d did not answer for %g s and was killed: it was stopped, or others had all CPUs",
			s.worker.PID(), s.wait.Seconds())
	}
	return r, err
}

// Close stops the threads and the worker. It may be called again.
func (s *Session) Close() error {
	s.kill()
	return s.worker.Close()
}
