package trace

import (
	"math/rand/v2"
	"time"
)

// Windows are as long as they can be, up to a quarter of a second: a wait that is longer
// than its window is not in the histograms. They come about once a second, so that a
// minute has enough of them for an interval.
const (
	cycle    = time.Second
	shortest = 20 * time.Millisecond
	longest  = 250 * time.Millisecond
	// leastDuty is watched however dear it is: without it there is no answer.
	leastDuty = 0.005
)

// budget decides how much of the time to watch. What recording takes is the events times
// what one costs, in and outside windows, and the reader's own time. The limit is a share
// of the CPU time in use, and of one CPU at least: of one chain of requests from thread
// to thread, which uses one CPU at a time, it makes no larger part.
type budget struct {
	share   float64
	on, off float64       // ns a switch
	reader  float64       // ns of the reader a switch in a window
	rate    float64       // switches a second
	busy    float64       // CPUs in use
	known   bool          // of this host: rate and busy
	detach  bool          // in any case
	least   time.Duration // of a window
}

// Until they are measured: dearer than any host that was looked at.
func newBudget(share float64) *budget {
	return &budget{share: share, on: 1200, off: 100, reader: 400, least: shortest}
}

// learn takes what a cycle has shown. A rate that rises counts at once, and one that
// falls by and by, so that a service with pauses is not watched too much after each.
func (b *budget) learn(rate, busy float64) {
	if !b.known {
		b.rate, b.busy, b.known = rate, busy, true
		return
	}
	b.rate = max(rate, 0.7*b.rate+0.3*rate)
	b.busy = 0.7*b.busy + 0.3*busy
}

// detached tells whether programs are to be attached in windows alone: so many switches would cost too much
// outside them.
func (b *budget) detached() bool {
	return b.detach || b.known && b.rate*b.off > b.allowed()/4
}

// allowed is in ns a second.
func (b *budget) allowed() float64 { return b.share * max(1, b.busy) * 1e9 }

// duty is the share of the time to watch.
func (b *budget) duty() float64 {
	off := b.off
	if b.detached() {
		off = 0
	}
	allowed := b.allowed() - b.rate*off
	more := b.rate * (b.on - off + b.reader)
	if more <= 0 || allowed >= more {
		return 1
	}
	return max(leastDuty, allowed/more)
}

// next draws a window and the pause after it. Both vary by half, so that what comes
// at a fixed pace is not always met or always missed.
func (b *budget) next() (window, pause time.Duration) {
	if !b.known { // a short look at how much there is to see
		return shortest, shortest
	}
	d := b.duty()
	mean := min(longest, max(b.least, time.Duration(d*float64(cycle))))
	if d >= 1 {
		return cycle, 0
	}
	vary := func(mean time.Duration) time.Duration { return time.Duration(float64(mean) * (0.5 + rand.Float64())) }
	return vary(mean), vary(time.Duration(float64(mean) * (1/d - 1)))
}
