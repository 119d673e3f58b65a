package scanlock

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Running is a cell that runs: a *Session, or a fake.
type Running interface {
	Snapshot() (Snapshot, error)
	Check() error
	Close() error
}

// Watch is how a cell is watched.
type Watch struct {
	Start    func(context.Context, Cell) (Running, error)
	WarmUp   time.Duration     // before anything is counted
	Interval time.Duration     // between calls of Each
	Duration time.Duration     // 0: until ctx is cancelled
	Each     func(Table) error // of every interval; may be nil
}

// Result is what a run gave.
type Result struct {
	Total       Table
	Shown       bool   // Each was given all of Total in one table
	Interrupted bool   // before its duration was over
	Lost        string // why the worker was lost while the run was not over: Total is what was read until then; "" else
}

// pulse is how often a worker's health is looked at: its contract is to report a
// death or a hang within two seconds.
const pulse = 200 * time.Millisecond

// keep is how often counts are read between tables, so that not all is lost with the
// worker: seldom, as each reading takes a CPU for a moment.
const keep = time.Second

// grace is what a worker has for its last counts when the run is to end: one that
// waits for a CPU may take long.
const grace = 2 * time.Second

// Run runs a plan. When ctx is cancelled the run ends with what it has so far, and
// without an error; before anything was counted, with ctx's error. An error of the
// worker ends it at once, with that error and, as Result.Lost, what was read before.
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
	defer context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			kill()
		case <-life.Done():
		}
	})()
	if ended, err := wait(ctx, s, time.Now().Add(w.WarmUp)); err != nil || ended {
		return res, errors.Join(err, ctx.Err())
	}
	first, err := s.Snapshot()
	if err != nil {
		return res, cmp.Or(ctx.Err(), err)
	}
	began := time.Now()
	last, tables := first, 0
	for tick := 1; ; tick++ {
		until, final := began.Add(time.Duration(tick)*w.Interval), false
		// An interval that would end just before the run does ends with it.
		if end := began.Add(w.Duration); w.Duration > 0 && !until.Add(w.Interval/20).Before(end) {
			until, final = end, true
		}
		now, ended, err := follow(ctx, s, until, last)
		res.Shown = res.Shown && now.At == last.At
		if now.At > first.At {
			res.Total = Between(p, first, now)
		}
		switch {
		case err != nil && ctx.Err() != nil: // too late for its last counts
			res.Interrupted = w.Duration > 0
			if now.At == first.At {
				return res, ctx.Err()
			}
			return res, nil
		case err != nil:
			if now.At > first.At {
				res.Lost = err.Error()
			}
			return res, err
		}
		// Of a last interval that was cut short only a long part is worth a table.
		whole := now.At-last.At >= w.Interval/2
		if w.Each != nil && (tables == 0 || whole) {
			if err := w.Each(Between(p, last, now)); err != nil {
				return res, err
			}
			tables++
			res.Shown = tables == 1
		} else {
			res.Shown = false
		}
		last = now
		if ended || final {
			res.Interrupted = ended && w.Duration > 0
			return res, nil
		}
	}
}

// follow reads the counts at a moment, or when ctx ends before; with an error, it
// returns the latest that could be read.
func follow(ctx context.Context, s Running, until time.Time, latest Snapshot) (_ Snapshot, ended bool, err error) {
	for {
		next, whole := until, true
		if at := time.Now().Add(keep); at.Add(keep / 2).Before(until) {
			next, whole = at, false
		}
		if ended, err = wait(ctx, s, next); err != nil {
			return latest, ended, err
		}
		now, err := s.Snapshot()
		if err != nil {
			return latest, ended, err
		}
		if latest = now; ended || whole {
			return latest, ended, nil
		}
	}
}

// wait waits until a moment and looks after the session meanwhile. It reports
// whether ctx ended first.
func wait(ctx context.Context, s Running, until time.Time) (ended bool, err error) {
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
