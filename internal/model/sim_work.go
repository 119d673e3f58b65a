package model

import (
	"math/bits"
	"slices"
)

// logGroup is the log of a Commit workload: one flush at a time, each covering all
// commits that wait when it starts.
type logGroup struct {
	writer   int32 // the log writer's process; -1 without CPU work of its own
	pending  []int32
	covered  []int32
	flushing bool
}

func (s *sim) populate(seed uint64, replication int) {
	w := s.c.Workload
	s.commit.writer = -1
	for i := range w.Users {
		p := s.addProc()
		r := &s.procs[p]
		r.rng = Stream(seed, replication, forProcess, i)
		switch w.Kind {
		case Batch, Query:
			r.left = w.Work * 1e9
		}
		r.stage = -1
		if s.each != nil {
			r.last = p // its own CPU
			if w.Each[i].Slice.IsZero() {
				continue
			}
		}
		// Everybody starts somewhere in a think time, jobs and workers at once.
		var delay float64
		if w.Kind == Dialog || w.Kind == Commit {
			k := s.of(p)
			delay = k.think.draw(r.rng)
		}
		s.q.Set(s.wakeSlot(p), evWake, Time(delay))
	}
	if w.Kind == Commit && !w.FlushWork.IsZero() {
		s.commit.writer = s.addProc()
		r := &s.procs[s.commit.writer]
		r.rng = Stream(seed, replication, forProcess, w.Users)
		r.io = true
	}
}

// of is how a closed process computes and thinks.
func (s *sim) of(p int32) pace {
	if s.each != nil {
		return s.each[p]
	}
	return pace{s.slice, s.think}
}

// arrive starts an open step and sets the next arrival. All of its work and waits
// are drawn now, so that they do not depend on how fast earlier steps go.
func (s *sim) arrive() {
	s.q.Set(s.arriveSlot(), evArrive, s.now+Time(s.gap*s.arrivals.ExpFloat64()))
	if s.waiting.n > 100_000+100*len(s.cpus) {
		s.done, s.broken = true, true
		return
	}
	index := s.meter.arrived()
	var p int32
	if n := len(s.free); n > 0 {
		p = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		p = s.addProc()
	}
	r := &s.procs[p]
	n := s.c.Workload.Slices
	r.plan = slices.Grow(r.plan[:0], 2*n-1)[:2*n-1]
	for k := range r.plan {
		if k%2 == 0 {
			r.plan[k] = s.slice.draw(s.demand)
		} else {
			r.plan[k] = s.wait.draw(s.demand)
		}
	}
	r.index, r.stage, r.arrived, r.cpu, r.work = index, 0, s.now, 0, r.plan[0]
	s.ready(p)
}

// ready runs a process's slice on an idle CPU, or lets it wait for one.
func (s *sim) ready(p int32) {
	if i := s.place.claim(s.procs[p].last); i >= 0 {
		s.begin(i, p)
	} else {
		s.waiting.push(p)
	}
}

// advance moves a process on after a slice: true when its next slice is ready at
// once, else it waits, or has ended.
func (s *sim) advance(p int32) bool {
	r := &s.procs[p]
	r.stage++
	switch s.c.Workload.Kind {
	case Dialog:
		return s.advanceDialog(p, r)
	case Commit:
		if p == s.commit.writer {
			s.meter.shared(r)
			s.flush()
			return false
		}
		s.commit.pending = append(s.commit.pending, p)
		s.gather()
		return false
	}
	if r.left <= 0 {
		s.ended(p)
		return false
	}
	wait := s.wait.draw(r.rng)
	s.nextPiece(r)
	return s.pause(p, wait)
}

func (s *sim) advanceDialog(p int32, r *proc) bool {
	if int(r.stage) == s.c.Workload.Slices {
		s.ended(p)
		return false
	}
	if r.rng == nil {
		r.work = r.plan[2*r.stage]
		return s.pause(p, r.plan[2*r.stage-1])
	}
	wait := s.wait.draw(r.rng)
	r.work = s.slice.draw(r.rng)
	return s.pause(p, wait)
}

func (s *sim) nextPiece(r *proc) {
	r.work = min(r.left, max(1, s.slice.draw(r.rng)))
	r.left -= r.work
}

// pause lets a process wait for ns; true when there is nothing to wait for.
func (s *sim) pause(p int32, ns float64) bool {
	if ns < 0.5 {
		return true
	}
	s.q.Set(s.wakeSlot(p), evWake, s.now+Time(ns+0.5))
	return false
}

// wake ends a wait or a think time; stage -1 means that a new step begins.
func (s *sim) wake(p int32) {
	r := &s.procs[p]
	if r.stage < 0 {
		s.beginStep(p, r)
	}
	s.ready(p)
}

func (s *sim) beginStep(p int32, r *proc) {
	r.stage, r.arrived, r.cpu = 0, s.now, 0
	switch s.c.Workload.Kind {
	case Batch, Query:
		s.nextPiece(r)
	default:
		k := s.of(p)
		r.work = k.slice.draw(r.rng)
	}
}

func (s *sim) ended(p int32) {
	r := &s.procs[p]
	s.meter.ended(r)
	if r.rng == nil {
		s.free = append(s.free, p)
		return
	}
	switch s.c.Workload.Kind {
	case Dialog, Commit:
		r.stage = -1
		// Without thinking the next step follows in the same instant, as an event.
		k := s.of(p)
		s.q.Set(s.wakeSlot(p), evWake, s.now+Time(k.think.draw(r.rng)))
	}
}

// gather starts a flush when none is under way and a commit waits.
func (s *sim) gather() {
	if s.commit.flushing || len(s.commit.pending) == 0 {
		return
	}
	s.commit.flushing = true
	if w := s.commit.writer; w >= 0 {
		r := &s.procs[w]
		r.work = s.flushWork.draw(r.rng)
		s.ready(w)
		return
	}
	s.flush()
}

// flush hands all commits that wait to the device.
func (s *sim) flush() {
	s.commit.covered, s.commit.pending = s.commit.pending, s.commit.covered[:0]
	s.q.Set(s.deviceSlot(), evDevice, s.now+Time(s.device.draw(s.flushes)))
}

func (s *sim) flushed() {
	for _, p := range s.commit.covered {
		s.ended(p)
	}
	s.commit.covered = s.commit.covered[:0]
	s.commit.flushing = false
	s.gather()
}

type placer struct {
	how     Placement
	idle    bitset
	whole   bitset // idle CPUs whose whole core is idle
	threads int
	cursor  int // Spread: where to look first
}

func newPlacer(how Placement, cpus, threads int) placer {
	p := placer{how: how, idle: newBitset(cpus), whole: newBitset(cpus), threads: threads}
	for i := range cpus {
		p.idle.set(i)
		p.whole.set(i)
	}
	return p
}

// claim takes an idle CPU for a process that last ran on one, or -1 when all are
// busy.
func (p *placer) claim(last int32) int32 {
	var i int
	switch {
	case p.how == Packed:
		i = p.idle.next(0)
	case p.how == Sticky && last >= 0 && p.idle.has(int(last)):
		i = int(last)
	default:
		if i = p.whole.next(p.cursor); i < 0 {
			i = p.idle.next(p.cursor)
		}
		p.cursor = i + 1
	}
	if i < 0 {
		return -1
	}
	p.idle.clear(i)
	p.whole.clear(i)
	for j := i / p.threads * p.threads; p.threads > 1 && j < (i/p.threads+1)*p.threads; j++ {
		p.whole.clear(j)
	}
	return int32(i)
}

func (p *placer) release(cpu int32) {
	i := int(cpu)
	p.idle.set(i)
	first := i / p.threads * p.threads
	for j := first; j < first+p.threads; j++ {
		if !p.idle.has(j) {
			return
		}
	}
	for j := first; j < first+p.threads; j++ {
		p.whole.set(j)
	}
}

// bitset of CPU numbers.
type bitset []uint64

func newBitset(n int) bitset    { return make(bitset, (n+63)/64) }
func (b bitset) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) clear(i int)    { b[i>>6] &^= 1 << (i & 63) }
func (b bitset) has(i int) bool { return b[i>>6]>>(i&63)&1 == 1 }

// within is the first member from first up to before end; -1 without one.
func (b bitset) within(first, end int) int {
	for w := first >> 6; w<<6 < end; w++ {
		x := b[w]
		if w == first>>6 {
			x &= ^uint64(0) << (first & 63)
		}
		if x != 0 {
			if i := w<<6 + bits.TrailingZeros64(x); i < end {
				return i
			}
			return -1
		}
	}
	return -1
}

// next is the first member at or after from, going round; -1 when empty.
func (b bitset) next(from int) int {
	n := len(b) << 6
	from = min(from, n)
	if i := b.within(from, n); i >= 0 {
		return i
	}
	return b.within(0, from)
}
