package service

import (
	"math/rand/v2"
	"sync"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/proc"
)

// RunSource and QueueSource are where its times come from.
const (
	RunSource   = "process times"
	QueueSource = "states of threads"
	Method      = "CPU time is counted by Windows for each process; waits for a CPU are sampled by the states of threads"
)

// A look is followed by so many times as long without one, in the mean: half a percent of one CPU. Its moment is drawn,
// since Windows' scheduler follows a clock.
const (
	rest     = 200
	shortest = 20 * time.Millisecond
)

// Meter reads a service again and again. In between, it looks at what threads do.
type Meter struct {
	Pause time.Duration // between two readings, at least

	mu     sync.Mutex
	tally  tally
	ended  bool
	failed error
	busy   float64 // of all CPUs, when it began; < 0: not known
	stop   func()
}

// NewMeter begins to count; ErrEnded where there is nothing to count any more.
func (s *Service) NewMeter() (*Meter, error) {
	m := &Meter{Pause: time.Second, tally: tally{root: s.root}, busy: -1}
	if busy, ok := proc.Busy(); ok {
		m.busy = busy
	}
	over, done := make(chan struct{}), make(chan struct{})
	m.stop = sync.OnceFunc(func() { close(over); <-done })
	cost := m.look()
	go func() {
		defer close(done)
		for {
			pause := max(shortest, rest*cost)
			select {
			case <-over:
				return
			case <-time.After(pause/2 + rand.N(pause)): //nolint:gosec // moments, no secrets
				cost = min(cost, m.look()) // the shortest is what it takes when it does not wait for a CPU itself
			}
		}
	}()
	_, err := m.Read()
	if err != nil {
		m.Close()
	}
	return m, err
}

// Close ends the looks.
func (m *Meter) Close() { m.stop() }

// Uses are not known of each thread.
func (m *Meter) Uses() []explain.Use { return nil }

// look takes one, and returns what that took.
func (m *Meter) look() time.Duration {
	began := time.Now()
	all, err := proc.Snapshot()
	cost := time.Since(began)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.failed = err
	} else if !m.ended {
		m.ended = !m.tally.add(began.Add(cost/2), all)
	}
	return cost
}

// Read reads all that there is now. With ErrEnded the reading is the last one that had
// something to read.
func (m *Meter) Read() (Reading, error) {
	m.look()
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.tally.reading()
	if busy, ok := proc.Busy(); ok && m.busy >= 0 {
		busy -= m.busy
		r.Busy = &busy
	}
	switch {
	case m.failed != nil:
		return r, m.failed
	case m.ended:
		return r, ErrEnded
	}
	return r, nil
}
