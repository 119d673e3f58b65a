package demo

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"hostlab/internal/thread"
)

// client is a thread that thinks and buys until the process ends.
type client struct {
	shop   *shop
	thread int64
	state  atomic.Int32
	meter  meter
	since  time.Time // of the state
	used   usage     // at that time
}

// usage is what a thread has used of CPUs, and for how long it was ready for one.
type usage struct{ cpu, queue time.Duration }

func (c *client) serve(seed uint64, ready chan<- struct{}) {
	runtime.LockOSThread()
	c.thread = int64(thread.Self())
	var known bool
	c.meter, known = newMeter()
	if !known {
		c.shop.unknown.Store(true)
	}
	c.since, c.used = time.Now(), c.meter.read()
	ready <- struct{}{}
	r := rand.New(rand.NewPCG(seed, 1))
	for {
		pause(time.Duration(r.ExpFloat64() * float64(c.shop.think.Load())))
		if err := c.transaction(r); err != nil {
			c.shop.failed.CompareAndSwap(nil, &err)
			return
		}
		c.shop.transactions.Add(1)
	}
}

func (c *client) transaction(r *rand.Rand) error {
	t := c.shop.store
	c.be(running)
	for i := range reads {
		if i == reads/2 {
			c.be(between)
			pause(own)
			c.be(running)
		}
		if err := t.read(r); err != nil {
			return err
		}
	}
	if r.Float64() < payers {
		c.be(commit)
		if err := t.commit(); err != nil {
			return err
		}
		c.shop.commits.Add(1)
	}
	c.be(idle)
	return nil
}

// be begins a state, and counts what the thread did in the one before: while it neither had a CPU nor was ready for
// one, it waited.
func (c *client) be(next state) {
	now, used := time.Now(), c.meter.read()
	cpu, queue := used.cpu-c.used.cpu, used.queue-c.used.queue
	c.shop.cpu.Add(int64(cpu))
	c.shop.queue.Add(int64(queue))
	c.shop.waited[c.state.Load()].Add(int64(max(0, now.Sub(c.since)-cpu-queue)))
	c.since, c.used = now, used
	c.state.Store(int32(next))
}
