package logcommit

import (
	"sync"
	"time"
)

// group lets writers commit together, as sessions of a database do: each copies its
// block into a buffer; the first that finds nobody at the log writes the whole buffer
// with one write and makes it durable, and the others wait. Blocks that come meanwhile
// fill the other buffer, and one of those who wait writes that next.
type group struct {
	log      *Log
	clock    *clock
	together bool // false: each writer makes its own block durable, one after the other

	mu      sync.Mutex
	woken   *sync.Cond
	leading bool // a writer is at the log
	filling int  // buffer that blocks go to
	buffer  [2]struct {
		b []byte
		n int
	}
	added, durable uint64 // blocks
	err            error  // of the first write that failed; nothing can be committed after it

	writes int64
	took   time.Duration // of all writes
}

// newGroup has room for so many writers.
func newGroup(l *Log, c *clock, writers int, together bool) *group {
	g := &group{log: l, clock: c, together: together}
	g.woken = sync.NewCond(&g.mu)
	for i := range g.buffer {
		g.buffer[i].b = aligned(writers * int(l.cfg.Block))
	}
	return g
}

// commit returns when a block of the caller's is durable.
func (g *group) commit() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !g.together && g.leading && g.err == nil {
		g.woken.Wait()
	}
	if g.err != nil {
		return g.err
	}
	f := &g.buffer[g.filling]
	size := int(g.log.cfg.Block)
	b := f.b[f.n*size : (f.n+1)*size]
	copy(b, g.log.buf)
	g.log.stamp(b)
	f.n++
	g.added++
	for mine := g.added; g.durable < mine && g.err == nil; {
		if g.leading {
			g.woken.Wait()
		} else {
			g.lead()
		}
	}
	return g.err
}

// lead writes what is in the buffer. It is called with mu held, which it gives up
// meanwhile.
func (g *group) lead() {
	f := &g.buffer[g.filling]
	upto := g.added
	g.leading = true
	g.filling = 1 - g.filling
	g.mu.Unlock()
	took, err := g.write(f.b[:f.n*int(g.log.cfg.Block)], f.n)
	g.mu.Lock()
	f.n = 0
	g.leading = false
	g.durable = upto
	g.writes++
	g.took += took
	if g.err == nil {
		g.err = err
	}
	g.woken.Broadcast()
}

// write makes blocks durable. To start the file again when it is full is no part of
// the time: the clock stands still meanwhile.
func (g *group) write(b []byte, n int) (time.Duration, error) {
	if g.log.full(n) {
		g.clock.stop()
		err := g.log.prepare()
		g.clock.start()
		if err != nil {
			return 0, err
		}
	}
	return g.log.put(b)
}

// clock is time since it was made, but for that during which it was stopped. It takes
// no part in steps of the system's clock: package time reads a monotonic one.
type clock struct {
	mu      sync.Mutex
	began   time.Time
	aside   time.Duration
	stopped time.Time // zero: it runs
}

func newClock() *clock { return &clock{began: time.Now()} }

func (c *clock) now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped.IsZero() {
		return c.stopped.Sub(c.began) - c.aside
	}
	return time.Since(c.began) - c.aside
}

func (c *clock) stop() {
	c.mu.Lock()
	c.stopped = time.Now()
	c.mu.Unlock()
}

func (c *clock) start() {
	c.mu.Lock()
	c.aside += time.Since(c.stopped)
	c.stopped = time.Time{}
	c.mu.Unlock()
}
