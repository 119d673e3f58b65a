package dialog

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"hostlab/internal/model"
)

// step is a dialog step under way; a user's steps follow each other in one.
type step struct {
	rng     *rand.Rand    // closed: the user's own draws
	work    []float64     // open: slices, s, drawn at arrival
	waits   []float64     // s, between them
	stage   int           // slices done
	arrived time.Duration // intended start
	ready   time.Duration // of the present slice
	cpu     time.Duration
	waited  time.Duration
	demand  float64 // s at full speed
	task    model.Task
}

// event is the moment at which a step's next slice is ready, or, without a step, at
// which the next open step arrives.
type event struct {
	at    time.Duration
	order uint64 // events of one moment keep theirs
	s     *step
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	n := len(*e) - 1
	x := (*e)[n]
	(*e)[n] = event{}
	*e = (*e)[:n]
	return x
}

// pool hands slices to CPUs: a slice that is ready takes an idle CPU, by the rule of
// placement, and waits in one queue when there is none. It is the model's rule, which
// is that of a scheduler that finds idle CPUs at once.
type pool struct {
	plan plan
	end  time.Duration // no step starts from here on
	from time.Duration // steps that start earlier are not counted

	mu      sync.Mutex
	due     events
	order   uint64
	queue   []*step
	units   []*unit
	cursor  int
	running int
	broken  error
	arrive  *rand.Rand
	demand  *rand.Rand
	result  reply
	last    time.Duration // the end of the last step
}

// unit is the thread of a CPU, as the pool sees it.
type unit struct {
	cpu   int
	bell  *bell
	next  *step         // to run, or that runs
	late  bool          // next found this CPU idle
	free  time.Duration // idle since then
	armed time.Duration // its thread sleeps until then; 0: awake, -1: until rung
}

func newPool(p plan) (*pool, error) {
	x := &pool{plan: p, from: ns(p.WarmUp), end: ns(p.WarmUp + p.Duration)}
	for _, cpu := range p.CPUs {
		b, err := newBell()
		if err != nil {
			x.close()
			return nil, fmt.Errorf("the threads' wake-up: %w", err)
		}
		x.units = append(x.units, &unit{cpu: cpu, bell: b})
	}
	if p.Users == 0 {
		x.arrive, x.demand = stream(p.Seed, forArrivals), stream(p.Seed, forDemand)
		x.push(ns(p.gap()*x.arrive.ExpFloat64()), nil)
		return x, nil
	}
	for i := range p.Users {
		s := &step{rng: stream(p.Seed, uint64(i))}
		// Everybody starts somewhere in a think time.
		x.begin(s, ns(p.Think.Mean*s.rng.Float64()))
	}
	return x, nil
}

func (x *pool) close() {
	for _, u := range x.units {
		u.bell.close()
	}
}

func (x *pool) push(at time.Duration, s *step) {
	x.order++
	heap.Push(&x.due, event{at, x.order, s})
}

// begin lets a step start at its intended time; after the end none does.
func (x *pool) begin(s *step, at time.Duration) {
	if at >= x.end {
		return
	}
	s.stage, s.arrived, s.cpu, s.waited, s.demand = 0, at, 0, 0, 0
	x.push(at, s)
}

// fire makes ready what is due. All draws of an open step are made when it arrives,
// so that they are the same whatever the clock does.
func (x *pool) fire(now time.Duration) {
	for len(x.due) > 0 && x.due[0].at <= now {
		e := heap.Pop(&x.due).(event)
		if e.s == nil {
			s := &step{}
			for k := range x.plan.Slices {
				s.work = append(s.work, x.plan.Slice.draw(x.demand))
				if k > 0 {
					s.waits = append(s.waits, x.plan.Wait.draw(x.demand))
				}
			}
			s.arrived = e.at
			e.s = s
			if next := e.at + ns(x.plan.gap()*x.arrive.ExpFloat64()); next < x.end {
				x.push(next, nil)
			}
		}
		e.s.ready = e.at
		x.place(e.s)
	}
}

// place gives a slice that is ready to an idle CPU, or lets it wait.
func (x *pool) place(s *step) {
	u := x.idle()
	if u == nil {
		x.queue = append(x.queue, s)
		return
	}
	for i := range x.units {
		if x.units[i] == u {
			x.cursor = i + 1
		}
	}
	u.next, u.late = s, s.ready >= u.free
	x.running++
	if u.armed != 0 {
		u.bell.ring()
	}
}

// idle is the CPU that the next slice goes to: that of the lowest number when packed,
// else the next one around. nil when all are busy.
func (x *pool) idle() *unit {
	n := len(x.units)
	for k := range n {
		i := k
		if !x.plan.Packed {
			i = (x.cursor + k) % n
		}
		if u := x.units[i]; u.next == nil {
			return u
		}
	}
	return nil
}

// overdue is how long a run may go on after its last arrival.
func (x *pool) overdue(now time.Duration) bool { return now > x.end+max(10*time.Second, 3*x.end) }

// ended moves a step on after a slice on u, which takes the next that waits.
func (x *pool) ended(u *unit, s *step, now time.Duration) {
	x.running--
	u.next = nil
	if s.stage++; s.stage < x.plan.Slices {
		wait := 0.0
		if s.rng != nil {
			wait = x.plan.Wait.draw(s.rng)
		} else {
			wait = s.waits[s.stage-1]
		}
		x.push(now+ns(wait), s)
	} else {
		x.last = now
		x.result.Steps++
		if s.arrived >= x.from {
			x.result.add(s, now)
		}
		if s.rng != nil {
			x.begin(s, now+ns(x.plan.Think.draw(s.rng)))
		}
	}
	if u.free = now; len(x.queue) > 0 { // they are older than what becomes ready now
		u.next, u.late = x.queue[0], false
		x.queue = x.queue[1:]
		x.running++
	}
	x.fire(now)
	if x.overdue(now) && x.broken == nil {
		x.broken = fmt.Errorf(
			"the CPUs did not keep up: %d steps wait for one %.3g s after the last arrival; lower load, or slow "+
				"the clock less", len(x.queue), (now - x.end).Seconds())
		x.due, x.queue = nil, nil // all that is not on a CPU
	}
}

// work is the length of a step's next slice, s at full speed.
func (x *pool) work(s *step) float64 {
	if s.rng != nil {
		return x.plan.Slice.draw(s.rng)
	}
	return s.work[s.stage]
}

// loop is the thread of a CPU: it runs the slices that the pool hands it, and sleeps
// between them. run does a slice's work and returns its time on the CPU; idle is called
// when there is none.
func (x *pool) loop(u *unit, now func() time.Duration, run func(s *step, seconds float64) time.Duration, idle func()) {
	u.bell.settle()
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		x.fire(now())
		x.hand(u)
		if s := u.next; s != nil {
			work := x.work(s)
			from := now()
			s.waited += from - s.ready
			if u.late && s.arrived >= x.from {
				x.result.Late = append(x.result.Late, (from - s.ready).Seconds())
			}
			x.mu.Unlock()
			used := run(s, work)
			x.mu.Lock()
			s.cpu += used
			s.demand += work
			x.ended(u, s, now())
			if u.next == nil {
				idle()
			}
			continue
		}
		if x.running == 0 && len(x.due) == 0 && len(x.queue) == 0 {
			x.ringAll() // it is over
			return
		}
		// The CPU that the next slice goes to wakes by itself when it is due, so that the
		// wake-up is its own; the others wait to be rung.
		u.armed = -1
		limit := time.Duration(-1)
		if len(x.due) > 0 && x.idle() == u {
			u.armed = max(1, x.due[0].at)
			limit = max(0, u.armed-now())
		}
		x.mu.Unlock()
		u.bell.wait(limit)
		x.mu.Lock()
		u.armed = 0
	}
}

func (x *pool) ringAll() {
	for _, u := range x.units {
		u.bell.ring()
	}
}

// hand rings the CPU that the next slice goes to, if it sleeps for too long.
func (x *pool) hand(u *unit) {
	if len(x.due) == 0 {
		return
	}
	turn, at := x.idle(), max(1, x.due[0].at)
	if turn == nil || turn == u || turn.armed == 0 || turn.armed == at {
		return
	}
	turn.armed = at // it will be, once it has looked
	turn.bell.ring()
}
