package emulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

// sample is how often the governor looks: two ticks of the common 250 Hz, as the
// accounts of scheduler quotas are finest at multiples of a tick.
const sample = Resolution

// busyShare is the share of a sample from which a thread counts as ready, for the
// weight of a group.
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
	began   time.Time
}

func (s *server) answer(params json.RawMessage) (any, error) {
	return worker.Handle(func(r request) (any, error) {
		switch r.Action {
		case actionStart:
			t, err := newTarget(r.Method, r.Root, r.Whole)
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
			return nil, s.with(func(g *governor) error {
				g.clock, g.began, g.task = clock, g.at, model.Task{}
				g.owed, g.pending = 0, [2]time.Duration{}
				return nil
			})
		case actionRelease:
			return nil, s.with(func(g *governor) error { g.clock = nil; g.totals.Speed = 1; return g.target.release() })
		case actionRead:
			var t Totals
			err := s.with(func(g *governor) error {
				// Up to now, and not up to the last look, unless that was just before.
				if now := time.Since(s.began); now-g.at > sample/4 {
					if s.failed = g.look(now); s.failed != nil {
						return errors.Join(s.failed, g.target.release())
					}
				}
				t = g.totals
				return nil
			})
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
				if s.failed == nil {
					if s.failed = g.look(time.Since(s.began)); s.failed != nil {
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
	target  target
	quota   bool         // target keeps threads by a quota
	clock   *model.Clock // nil: full speed
	task    model.Task
	began   time.Duration // of the clock's time
	at      time.Duration // of the last look
	last    map[int]use
	carry   map[int]time.Duration // busy time of a thread that did not fit into the sample it was seen in
	was     time.Duration         // that the target had kept threads at the last look
	pending [2]time.Duration      // of a quota: throttled, and waited, that has no counterpart yet
	smooth  float64               // threads at once, for a quota
	owed    float64               // s asked since the policy was set, and not kept
	totals  Totals
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
	var all overlap
	for key, total := range used {
		before, known := g.last[key]
		if !known && g.last == nil {
			continue // what was there at the start has run before it
		}
		did := max(0, total.ran-before.ran)
		g.totals.Used += did.Seconds()
		g.totals.Clocked += did.Seconds() / speed
		// A thread that was kept from its CPU had work nevertheless, for any reason. With
		// a quota, waiting has the throttled time in it already.
		own, waited := time.Duration(float64(did)/speed), max(0, total.waited-before.waited)
		all.add(did, waited, own)
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
		if float64(busy) > busyShare*float64(span) {
			threads.ready++
		}
	}
	kept := g.target.kept()
	hit := kept - g.was
	g.was = kept
	free := span
	if !g.quota {
		free -= hit
	}
	threads.running = all.atOnce(max(free, span/8))
	if g.quota {
		hit = g.throttled(hit, all.waited())
	}
	g.account(all.did.Seconds()/threads.running*(1/speed-1), hit.Seconds(), threads.running)
	from := g.at - g.began
	g.last, g.carry, g.at = used, carry, now
	g.totals.Speed = 1
	if g.clock == nil {
		return nil // released
	}
	if busiest > 0 {
		g.clock.Start(from, &g.task)
		g.clock.Stop(from + busiest)
	}
	g.totals.Speed = min(1, g.clock.Speed(now-g.began))
	if g.quota {
		g.smooth = max(1, g.smooth+(threads.running-g.smooth)/4)
		threads.running = g.smooth
	}
	return g.target.set(g.toSet(), load{threads.running, max(1, threads.ready)})
}

// account adds what the policy asked of a sample and what threads were kept from their
// CPUs in it, both in s of wall time.
func (g *governor) account(asked, kept, threads float64) {
	g.totals.Asked += asked
	g.totals.Kept += kept
	g.totals.Billed += kept * threads
	const most = 0.05 // what a host that stood still has left is forgiven beyond it
	g.owed = min(max(g.owed+asked-kept, -most), most)
}

// settle is the time over which a quota makes good what it has kept too little or too
// much; grain is what it cannot tell, as throttled time counts when its period ends.
const (
	settle = 8 * sample
	grain  = sample
)

// toSet is the speed for the target. Signals keep to what is owed by themselves.
func (g *governor) toSet() float64 {
	speed := g.totals.Speed
	if !g.quota || speed >= 1 {
		return speed
	}
	off := math.Copysign(max(0, math.Abs(g.owed)-grain.Seconds()), g.owed)
	return min(1, speed*(1-min(0.5, off/settle.Seconds())))
}

// throttled is for how long a quota has kept a thread that had work: no longer than the
// group was throttled, as others on the host make threads wait too, and no longer than
// threads waited, as a helper's CPU may have been throttled alone. The kernel counts the
// one when a period ends and the other when a thread is on a CPU again.
func (g *governor) throttled(group, waited time.Duration) time.Duration {
	g.pending[0] += group
	g.pending[1] += waited
	hit := min(g.pending[0], g.pending[1])
	for i := range g.pending {
		g.pending[i] = min(g.pending[i]-hit, 4*sample)
	}
	return hit
}

// overlap tells how many threads run at once from what each did in a sample. A thread
// that does little beside another must not count as a second one: half the time of both
// would then be taken for that of each.
type overlap struct {
	did, most time.Duration // CPU time of all, and of the busiest
	ready     time.Duration // that and what they waited for it
	each      []use
}

// waited is the time that the busiest threads waited for a CPU, on average.
func (o *overlap) waited() time.Duration {
	var sum, n time.Duration
	for _, u := range o.each {
		if u.ran > 0 && u.ran >= o.most/4 {
			sum, n = sum+u.waited, n+1
		}
	}
	return sum / max(1, n)
}

// others are the times that a thread may have waited for each that it ran: a helper that
// hardly runs and waits long is none that would compute meanwhile.
const others = 3

func (o *overlap) add(did, waited, own time.Duration) {
	all := waited
	waited = min(waited, others*own)
	o.did, o.most = o.did+did, max(o.most, did)
	o.each = append(o.each, use{did, all})
	o.ready += did + waited
}

// atOnce is between 1, for threads that run in turns, and the number that explains
// that none ran for longer than the busiest. free is the time in which they could.
func (o *overlap) atOnce(free time.Duration) float64 {
	if o.most <= 0 || free <= 0 {
		return 1
	}
	return max(1, min(float64(o.did)/float64(o.most), float64(o.ready)/float64(free)))
}
