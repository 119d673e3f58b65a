package emulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"hostlab/internal/model"
	"hostlab/internal/workload/worker"
)

const job = "emulate"

const (
	actionStart   = "start"
	actionSet     = "set"
	actionRead    = "read"
	actionRelease = "release"
)

// sample is how often the governor looks: two ticks of the common 250 Hz, as the
// accounts of scheduler quotas are finest at multiples of a tick.
const sample = Resolution

// busyShare is the share of a sample from which a thread counts as running, for a
// quota that all threads of a group share.
const busyShare = 0.05

// Jobs lists what this package's worker processes do.
func Jobs() []worker.Job {
	return []worker.Job{{Name: job, New: func() worker.Func { return process.answer }, End: func() { _ = process.stop() }}}
}

// process is the governor of a worker process.
var process server

// server runs a governor for its parent.
type server struct {
	mu      sync.Mutex
	g       *governor
	stopped chan struct{}
	quit    chan struct{}
	failed  error
}

func (s *server) answer(params json.RawMessage) (any, error) {
	return worker.Handle(func(r request) (any, error) {
		switch r.Action {
		case actionStart:
			t, err := newTarget(r.Method, r.Root)
			if err != nil {
				return nil, err
			}
			s.start(&governor{target: t, quota: r.Method == Group})
			return nil, nil
		case actionSet:
			clock, err := newClock(r.Policy, r.Floor)
			if err != nil {
				return nil, err
			}
			return nil, s.with(func(g *governor) error { g.clock, g.began, g.task = clock, g.at, model.Task{}; return nil })
		case actionRelease:
			return nil, s.with(func(g *governor) error { g.clock = nil; g.totals.Speed = 1; return g.target.release() })
		case actionRead:
			var t Totals
			err := s.with(func(g *governor) error { t = g.totals; return nil })
			return t, err
		}
		return nil, fmt.Errorf("no action %q", r.Action)
	})(params)
}

// with lends the governor, unless it has failed.
func (s *server) with(f func(*governor) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.g == nil {
		return errors.New("it was not started")
	}
	if s.failed != nil {
		return s.failed
	}
	return f(s.g)
}

func (s *server) start(g *governor) {
	s.g, s.stopped, s.quit = g, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(s.stopped)
		began := time.Now()
		tick := time.NewTicker(sample)
		defer tick.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-tick.C:
				s.mu.Lock()
				if s.failed == nil {
					if s.failed = g.look(time.Since(began)); s.failed != nil {
						_ = g.target.release()
					}
				}
				s.mu.Unlock()
			}
		}
	}()
}

// stop ends the governor and lets everything go.
func (s *server) stop() error {
	s.mu.Lock()
	g := s.g
	s.mu.Unlock()
	if g == nil {
		return nil
	}
	close(s.quit)
	<-s.stopped
	return g.target.release()
}

// governor feeds a policy's clock with what the processes use, and makes them keep to
// its speed.
type governor struct {
	target target
	quota  bool         // target keeps threads by a quota
	clock  *model.Clock // nil: full speed
	task   model.Task
	began  time.Duration // of the clock's time
	at     time.Duration // of the last look
	last   map[int]use
	carry  map[int]time.Duration // busy time of a thread that did not fit into the sample it was seen in
	totals Totals
}

// look is one sample: it reads, feeds, and sets.
func (g *governor) look(now time.Duration) error {
	used := g.target.used()
	span := now - g.at
	speed := g.totals.Speed
	if speed == 0 {
		speed = 1 // of the first look
	}
	carry := make(map[int]time.Duration, len(used))
	busiest, threads := time.Duration(0), load{}
	for key, total := range used {
		before, known := g.last[key]
		if !known && g.last == nil {
			continue // what was there at the start has run before it
		}
		did := max(0, total.ran-before.ran)
		g.totals.Used += did.Seconds()
		g.totals.Clocked += did.Seconds() / speed
		// A thread that was kept from its CPU had work all the same, whoever kept it. With
		// a quota, waiting has the throttled time in it already.
		own, waited := time.Duration(float64(did)/speed), max(0, total.waited-before.waited)
		busy := own + waited
		if g.quota {
			busy = max(own, did+waited)
		}
		busy += g.carry[key]
		if busy > span {
			carry[key] = min(busy-span, sample)
			busy = span
		}
		busiest = max(busiest, busy)
		if float64(own) > busyShare*float64(span) { // threads that a quota alone keeps are none
			threads.running++
		}
		if float64(busy) > busyShare*float64(span) {
			threads.ready++
		}
	}
	g.totals.Wall += span.Seconds()
	if speed < 1 {
		g.totals.Slow += span.Seconds()
	}
	from := g.at - g.began
	g.last, g.carry, g.at, g.totals.Threads = used, carry, now, len(used)
	g.totals.Speed = 1
	if g.clock == nil {
		return nil // released
	}
	if busiest > 0 {
		g.clock.Start(from, &g.task)
		g.clock.Stop(from + busiest)
	}
	g.totals.Speed = min(1, g.clock.Speed(now-g.began))
	return g.target.set(g.totals.Speed, load{max(1, threads.running), max(1, threads.ready)})
}
