package scanlock

import (
	"context"
	"errors"
	"time"

	threads "hostlab/internal/workload/scanlock"
)

// Session is a cell that runs: *workload/scanlock.Session, or a fake.
type Session interface {
	Snapshot() (threads.Snapshot, error)
	Check() error
	Close() error
}

// Watch is how a cell is watched.
type Watch struct {
	Start    func(context.Context, threads.Cell) (Session, error)
	WarmUp   time.Duration     // before anything is counted
	Interval time.Duration     // between calls of Each
	Duration time.Duration     // 0: until ctx is cancelled
	Each     func(Table) error // of every interval; may be nil
}

// Result is what a run gave.
type Result struct {
	Total       Table
	Told        bool // Each was given all of Total in one table
	Interrupted bool // before its duration was over
}

// pulse is how often a worker's health is looked at: its contract is to tell of a
// death or a hang within two seconds.
const pulse = 200 * time.Millisecond

// Run runs a plan. When ctx is cancelled the run ends with what it has so far, and
// without an error; before anything was counted, with ctx's error. An error of the
// worker ends it at once.
func (w Watch) Run(ctx context.Context, p Plan) (res Result, err error) {
	if err := ctx.Err(); err != nil {
		return res, err
	}
	// Cancelling ctx must not kill the worker, whose last counts are still wanted; only
	// while it starts there is nothing to wait for.
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	starting := context.AfterFunc(ctx, kill)
	s, err := w.Start(life, p.Cell)
	if !starting() && err == nil {
		err = errors.Join(ctx.Err(), s.Close())
	}
	if err != nil {
		if ctx.Err() != nil {
			return res, ctx.Err()
		}
		return res, err
	}
	defer func() {
		if cerr := s.Close(); err == nil {
			err = cerr
		}
	}()
	if ended, err := wait(ctx, s, time.Now().Add(w.WarmUp)); err != nil || ended {
		return res, errors.Join(err, ctx.Err())
	}
	first, err := s.Snapshot()
	if err != nil {
		return res, err
	}
	began := time.Now()
	last, tables := first, 0
	for tick := 1; ; tick++ {
		until, final := began.Add(time.Duration(tick)*w.Interval), false
		// An interval that would end just before the run does ends with it.
		if end := began.Add(w.Duration); w.Duration > 0 && !until.Add(w.Interval/20).Before(end) {
			until, final = end, true
		}
		ended, err := wait(ctx, s, until)
		if err != nil {
			return res, err
		}
		now, err := s.Snapshot()
		if err != nil {
			return res, err
		}
		res.Total = Between(p, first, now)
		// Of a last interval that was cut short only a long part is worth a table.
		whole := now.At-last.At >= w.Interval/2
		if w.Each != nil && (tables == 0 || whole) {
			if err := w.Each(Between(p, last, now)); err != nil {
				return res, err
			}
			tables++
			res.Told = tables == 1
		} else {
			res.Told = false
		}
		last = now
		if ended || final {
			res.Interrupted = ended && w.Duration > 0
			return res, nil
		}
	}
}

// wait waits until a moment and looks after the session meanwhile. It reports
// whether ctx ended first.
func wait(ctx context.Context, s Session, until time.Time) (ended bool, err error) {
	for {
		if err := s.Check(); err != nil {
			return false, err
		}
		select {
		case <-ctx.Done(): // also where the moment has passed already
			return true, nil
		default:
		}
		left := time.Until(until)
		if left <= 0 {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return true, nil
		case <-time.After(min(left, pulse)):
		}
	}
}
