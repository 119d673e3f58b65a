package emulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"hostlab/internal/model"
	"hostlab/internal/worker"
)

const job = "emulate"

const (
	actionStart   = "start"
	actionSet     = "set"
	actionRead    = "read"
	actionRelease = "release"
)

// sample is how often the governor looks: two ticks of the common 250 Hz.
const sample = Resolution

// Jobs lists what this package's worker processes do.
func Jobs() []worker.Job {
	return []worker.Job{{Name: job, New: func() worker.Func { return process.answer }, End: process.stop}}
}

// process is the governor of a worker process.
var process server

// server runs a governor for its parent.
type server struct {
	mu      sync.Mutex
	g       *governor
	stopped chan struct{}
	quit    chan struct{}
	began   time.Time
}

func (s *server) answer(params json.RawMessage) (any, error) {
	return worker.Handle(func(r request) (any, error) {
		switch r.Action {
		case actionStart:
			s.start(&governor{target: newTarget(r.Root, r.Whole)})
			return nil, nil
		case actionSet:
			clock, err := newClock(r.Policy, r.Floor)
			if err != nil {
				return nil, err
			}
			return nil, s.with(func(g *governor) { g.clock, g.began, g.task = clock, g.at, model.Task{} })
		case actionRelease:
			return nil, s.with(func(g *governor) { g.clock = nil; g.totals.Speed = 1; g.target.release() })
		case actionRead:
			var t Totals
			err := s.with(func(g *governor) {
				// Up to now, and not up to the last look, unless that was just before.
				if now := time.Since(s.began); now-g.at > sample/4 {
					g.look(now)
				}
				t = g.totals
			})
			return t, err
		}
		return nil, fmt.Errorf("no action %q", r.Action)
	})(params)
}

// with lends the governor.
func (s *server) with(f func(*governor)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.g == nil {
		return errors.New("it was not started")
	}
	f(s.g)
	return nil
}

func (s *server) start(g *governor) {
	s.g, s.stopped, s.quit, s.began = g, make(chan struct{}), make(chan struct{}), time.Now()
	go func() {
		defer close(s.stopped)
		tick := time.NewTicker(sample)
		defer tick.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-tick.C:
				s.mu.Lock()
				g.look(time.Since(s.began))
				s.mu.Unlock()
			}
		}
	}()
}

// stop ends the governor and lets everything go.
func (s *server) stop() {
	s.mu.Lock()
	g := s.g
	s.mu.Unlock()
	if g != nil {
		close(s.quit)
		<-s.stopped
		g.target.release()
	}
}

// governor feeds a policy's clock with what the processes use, and makes them keep to
// its speed.
type governor struct {
	target target
	clock  *model.Clock // nil: full speed
	task   model.Task
	began  time.Duration // of the clock's time
	at     time.Duration // of the last look
	last   map[int]use
	carry  map[int]time.Duration // busy time of a thread that did not fit into the sample it was seen in
	was    time.Duration         // that the target had kept threads at the last look
	totals Totals
}

// look is one sample: it reads, feeds, and sets.
func (g *governor) look(now time.Duration) {
	used := g.target.used()
	span := now - g.at
	speed := g.totals.Speed
	if speed == 0 {
		speed = 1 // of the first look
	}
	carry := make(map[int]time.Duration, len(used))
	busiest := time.Duration(0)
	var all overlap
	for key, total := range used {
		before, known := g.last[key]
		if !known && g.last == nil {
			continue // what was there at the start has run before it
		}
		did := max(0, total.ran-before.ran)
		g.totals.Used += did.Seconds()
		g.totals.Clocked += did.Seconds() / speed
		// A thread that was kept from its CPU had work nevertheless, for any reason.
		own, waited := time.Duration(float64(did)/speed), max(0, total.waited-before.waited)
		all.add(did, waited, own)
		busy := own + waited + g.carry[key]
		if busy > span {
			carry[key] = min(busy-span, sample)
			busy = span
		}
		busiest = max(busiest, busy)
	}
	kept := g.target.kept()
	hit := kept - g.was
	g.was = kept
	threads := all.atOnce(max(span-hit, span/8))
	g.totals.Asked += all.did.Seconds() / threads * (1/speed - 1)
	g.totals.Kept += hit.Seconds()
	g.totals.Billed += hit.Seconds() * threads
	from := g.at - g.began
	g.last, g.carry, g.at = used, carry, now
	g.totals.Speed = 1
	if g.clock == nil {
		return // released
	}
	if busiest > 0 {
		g.clock.Start(from, &g.task)
		g.clock.Stop(from + busiest)
	}
	g.totals.Speed = min(1, g.clock.Speed(now-g.began))
	g.target.set(g.totals.Speed, threads)
}

// overlap tells how many threads run at once from what each did in a sample. A thread
// that does little beside another must not count as a second one: half the time of both
// would then be taken for that of each.
type overlap struct {
	did, most time.Duration // CPU time of all, and of the busiest
	ready     time.Duration // that and what they waited for it
}

// others are the times that a thread may have waited for each that it ran: a helper that
// hardly runs and waits long is none that would compute meanwhile.
const others = 3

func (o *overlap) add(did, waited, own time.Duration) {
	o.did, o.most = o.did+did, max(o.most, did)
	o.ready += did + min(waited, others*own)
}

// atOnce is between 1, for threads that run in turns, and the number that explains
// that none ran for longer than the busiest. free is the time in which they could.
func (o *overlap) atOnce(free time.Duration) float64 {
	if o.most <= 0 || free <= 0 {
		return 1
	}
	return max(1, min(float64(o.did)/float64(o.most), float64(o.ready)/float64(free)))
}
