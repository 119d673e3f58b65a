package scanlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hostlab/internal/worker"
)

// A worker is asked at least every beat, and given up when it does not answer within
// patience: together well under the two seconds that Session promises, for hosts on
// which this process has to wait for its CPU, too. One that waits for a CPU itself,
// as far as the system tells, is left more time: see within.
const (
	beat     = 300 * time.Millisecond
	patience = 1200 * time.Millisecond
	arrival  = 20 * time.Second // of all threads on their CPUs, with their memory written once
)

// Session is threads that run in a worker process. Close must be called.
type Session struct {
	ctx    context.Context // the caller's
	worker *worker.Session
	kill   context.CancelFunc
	done   chan struct{} // closed when the session is over
	beats  sync.WaitGroup

	mu    sync.Mutex // one call at a time
	asked time.Time

	state sync.Mutex
	over  error
}

// errClosed is what a closed session gives.
var errClosed = errors.New("the threads were stopped")

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
	s := &Session{ctx: ctx, worker: w, kill: kill, done: make(chan struct{})}
	if err := s.arrive(c); err != nil {
		s.Close()
		return nil, err
	}
	s.beats.Go(s.beat)
	return s, nil
}

// arrive starts the threads and waits until all of them run.
func (s *Session) arrive(c Cell) error {
	r, err := s.ask(request{Cell: &c})
	for begin := time.Now(); err == nil && r.Missing != nil; r, err = s.ask(request{}) {
		if time.Since(begin) > arrival {
			return late(*r.Missing)
		}
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-time.After(settle):
		}
	}
	return err
}

// late is the error of a thread that does not arrive.
func late(cpu int) error {
	return fmt.Errorf("CPU %d: its thread did not get to run within %g s; something else holds that CPU, or memory is short", cpu,
		arrival.Seconds())
}

// beat asks the worker whenever nobody else does, to notice its end.
func (s *Session) beat() {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		recent := time.Since(s.asked) < beat/2
		s.mu.Unlock()
		if !recent {
			_, _ = s.ask(request{}) // Check tells
		}
	}
}

// Snapshot reads the counters while the threads run. A worker that does not answer
// within two seconds, though it has its CPUs, is killed; one that waits for a CPU,
// after starving; and one that died is reported with its reason.
func (s *Session) Snapshot() (Snapshot, error) {
	r, err := s.ask(request{Read: true})
	if err != nil {
		return Snapshot{}, err
	}
	if r.Snapshot == nil {
		return Snapshot{}, s.end(errors.New("the worker process answered without a snapshot"))
	}
	return *r.Snapshot, nil
}

// ask sends a request. Any error is the session's end.
func (s *Session) ask(q request) (reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Check(); err != nil {
		return reply{}, err
	}
	var r reply
	got := make(chan error, 1)
	hungry := newHunger(func() map[int]use { return usesOf(s.worker.PID()) })
	go func() { got <- s.worker.Call(q, &r) }()
	err, how := within(got, hungry)
	s.asked = time.Now()
	if how != answered {
		s.kill()
		<-got //nolint:errcheck // it comes at once, since the process is gone
		err = lost(s.worker.PID(), how)
	}
	if s.ctx.Err() != nil {
		err = s.ctx.Err()
	}
	if err != nil {
		err = s.end(err)
	}
	return r, err
}

// lost is the error of a worker that was silent for too long.
func lost(pid int, how silence) error {
	if how == starved {
		return fmt.Errorf("the worker process %d waited %g s for a CPU to answer on, as others had them all, and was killed", pid,
			starving.Seconds())
	}
	return fmt.Errorf("the worker process %d did not answer for %g s, stopped or hanging, and was killed", pid,
		patience.Seconds())
}

// end notes why the session is over, unless it is already, kills the worker, and
// returns the reason that is noted.
func (s *Session) end(why error) error {
	s.state.Lock()
	defer s.state.Unlock()
	if s.over == nil {
		s.over = why
		close(s.done)
		s.kill()
	}
	return s.over
}

// Check returns why the worker is of no more use, within two seconds of its death or
// of its hanging; nil while it runs, or waits for a CPU. It may be called at any time.
func (s *Session) Check() error {
	s.state.Lock()
	defer s.state.Unlock()
	if s.over == nil {
		return s.ctx.Err()
	}
	return s.over
}

// Close stops the threads and the worker. It may be called again.
func (s *Session) Close() error {
	_ = s.end(errClosed)
	s.beats.Wait()
	return s.worker.Close()
}
