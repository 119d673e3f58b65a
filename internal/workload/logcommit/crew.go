package logcommit

import (
	"context"
	"runtime"
	"sync"
	"time"

	"hostlab/internal/hot"
	"hostlab/internal/thread"
	"hostlab/internal/workload"
)

// crew are the writers of one run.
type crew struct {
	group    *group
	clock    *clock
	limit    time.Duration      // 0: none
	arrivals *workload.Arrivals // nil: each writer commits as soon as it can
	work     uint64             // steps of computing before each commit
	delay    func(n int)        // of the nth commit: a test's stall; may be nil

	mu    sync.Mutex
	left  int
	begun int
	times []float64     // of commits, each from when it was due
	wait  time.Duration // all writers together: in commits
	app   time.Duration // all writers together: computing
}

func newCrew(g *group, r workload.Request) *crew {
	p := r.Params.(*Params)
	c := &crew{group: g, clock: g.clock, limit: p.Duration.Duration, work: uint64(p.Work), left: p.Count}
	c.times = make([]float64, 0, c.left)
	if rate := p.Rate; rate > 0 {
		c.arrivals = workload.Even(g.clock.began, rate)
		if p.Arrivals == "random" {
			c.arrivals = workload.Poisson(g.clock.began, rate, r.Seed)
		}
	}
	return c
}

// run returns when all writers have ended: when count or limit is reached, one failed
// or ctx was cancelled.
func (c *crew) run(ctx context.Context, writers int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, writers)
	for range writers - 1 {
		go func() { errs <- c.writer(ctx) }()
	}
	errs <- c.writer(ctx)
	var first error
	for range writers {
		if err := <-errs; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	return first
}

func (c *crew) writer(ctx context.Context) error {
	if c.arrivals != nil {
		// The thread sleeps itself: the runtime would have another one wake it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, due, ok := c.next()
		if !ok {
			return nil
		}
		app := time.Duration(0)
		if c.arrivals != nil {
			if err := c.sleepUntil(ctx, due); err != nil {
				return err
			}
		} else {
			began := c.clock.now()
			if c.work > 0 {
				hot.Adds(c.work)
			}
			due = c.clock.now()
			app = due - began
		}
		from := due
		if c.arrivals != nil {
			from = c.clock.now()
		}
		if c.delay != nil {
			c.delay(n)
		}
		if err := c.group.commit(); err != nil {
			return err
		}
		end := c.clock.now()
		c.mu.Lock()
		c.times = append(c.times, (end - due).Seconds())
		c.wait += end - from
		c.app += app
		c.mu.Unlock()
	}
}

// next gives a writer its next commit, and with arrivals when it is due.
func (c *crew) next() (n int, due time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 || c.limit > 0 && c.clock.now() >= c.limit {
		return 0, 0, false
	}
	if c.arrivals != nil {
		if due = c.arrivals.Next().Sub(c.clock.began); c.limit > 0 && due >= c.limit {
			c.left = 0
			return 0, 0, false
		}
	}
	c.left--
	c.begun++
	return c.begun - 1, due, true
}

// sleepUntil sleeps in parts, so that it can be cancelled.
func (c *crew) sleepUntil(ctx context.Context, due time.Duration) error {
	const part = 50 * time.Millisecond
	for left := due - c.clock.now(); left > 0; left = due - c.clock.now() {
		if err := ctx.Err(); err != nil {
			return err
		}
		thread.Sleep(min(left, part))
	}
	return nil
}
