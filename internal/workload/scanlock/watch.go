package scanlock

import (
	"cmp"
	"context"
	"errors"
	"time"

	"hostlab/internal/proc"
)

// Running is a cell that runs: a *Session, or a fake.
type Running interface {
	Snapshot() (Snapshot, error)
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
	Interrupted bool   // before its duration was over
	Lost        string // why the worker was lost while the run was not over: Total is what was read until then; "" else
}

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
		err = s.Close()
	}
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	defer context.AfterFunc(ctx, func() {
		if proc.Sleep(life, grace) == nil {
			kill()
		}
	})()
	if err := proc.Sleep(ctx, w.WarmUp); err != nil {
		return res, err
	}
	first, err := s.Snapshot()
	if err != nil {
		return res, cmp.Or(ctx.Err(), err)
	}
	step, began, told, last := min(w.Interval, keep), time.Now(), first, first
	for n := time.Duration(1); ; n++ {
		due, final := began.Add(n*step), false
		if end := began.Add(w.Duration); w.Duration > 0 && !due.Before(end) {
			due, final = end, true
		}
		final = proc.Sleep(ctx, time.Until(due)) != nil || final
		now, err := s.Snapshot()
		switch {
		case err != nil && ctx.Err() != nil: // too late for its last counts
			now, final = last, true
		case err != nil:
			if last.At > first.At {
				res.Lost = err.Error()
			}
			return res, err
		}
		last = now
		if now.At > first.At {
			res.Total = Between(p, first, now)
		}
		if w.Each != nil && now.At > told.At && (final || now.At-told.At >= w.Interval-step/2) {
			if err := w.Each(Between(p, told, now)); err != nil {
				return res, err
			}
			told = now
		}
		if final {
			res.Interrupted = ctx.Err() != nil && w.Duration > 0
			if now.At == first.At {
				return res, ctx.Err()
			}
			return res, nil
		}
	}
}
