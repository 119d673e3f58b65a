package scanlock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"hostlab/internal/testkit"
)

// fake is a session whose threads do a thousand times their number a second.
type fake struct {
	cell      Cell
	began     time.Time
	snapshots int
	fail      int       // the snapshot that fails, from 1
	closed    int       // calls of Close
	at        func(int) // told of each snapshot
}

var errGone = errors.New("the worker was killed")

func (f *fake) Snapshot() (Snapshot, error) {
	f.snapshots++
	s := Snapshot{At: time.Since(f.began)}
	for i, th := range f.cell.Threads {
		n := uint64(float64(1000*(i+1)) * s.At.Seconds())
		c := Count{Thread: th, CPUTime: s.At, HasCPU: true, Waited: s.At / 100, HasWaited: true}
		if th.Role == Lock {
			c.Acquisitions, c.Spins = n, 2*n
		} else {
			c.Rounds = n
		}
		s.Counts = append(s.Counts, c)
	}
	if f.at != nil {
		f.at(f.snapshots)
	}
	if f.snapshots == f.fail {
		return Snapshot{}, errGone
	}
	return s, nil
}
func (f *fake) Close() error { f.closed++; return nil }

func (f *fake) start(_ context.Context, c Cell) (Running, error) {
	f.cell, f.began = c, time.Now()
	return f, nil
}

func planned(t *testing.T) Plan {
	t.Helper()
	return testkit.Must(Make(asked("", ""), made(4)))(t)
}

// A table for each interval and one of the whole run, whose last interval ends with the run.
func TestRun(t *testing.T) {
	for duration, want := range map[time.Duration]int{30 * time.Second: 3, 31 * time.Second: 4, 5 * time.Second: 1} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{}
			var tables []Table
			w := Watch{Start: f.start, WarmUp: time.Second, Interval: 10 * time.Second, Duration: duration,
				Each: func(t Table) error { tables = append(tables, t); return nil }}
			res, err := w.Run(t.Context(), planned(t))
			if err != nil || len(tables) != want || res.Interrupted || res.Total.Seconds != duration.Seconds() || f.closed != 1 {
				t.Errorf("%d tables, %+v, closed %d times, %v", len(tables), res, f.closed, err)
			}
			for _, table := range append(tables, res.Total) {
				if r := table.Rows[2]; r.PerSecond != 3000 || r.SpinsPerSecond != 6000 || r.SpinsPer != 2 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// Ctrl-C ends a run with the figures until then, and the worker is alive until they are read.
func TestInterrupted(t *testing.T) {
	for _, duration := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
			defer cancel()
			f := &fake{}
			var alive context.Context
			w := Watch{Interval: time.Second, Duration: duration, Each: func(Table) error { return nil },
				Start: func(ctx context.Context, c Cell) (Running, error) { alive = ctx; return f.start(ctx, c) }}
			f.at = func(int) {
				if alive.Err() != nil {
					t.Error("the worker's context ended before its last counts were read")
				}
			}
			res, err := w.Run(ctx, planned(t))
			if err != nil || res.Total.Seconds != 3.5 || res.Interrupted != (duration > 0) || f.closed != 1 {
				t.Errorf("duration %v: %+v, %v, closed %d times", duration, res, err, f.closed)
			}
			if alive.Err() == nil {
				t.Error("the worker's context outlives the run")
			}
		})
	}
}

func TestInterruptedBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		w := Watch{Interval: time.Second, WarmUp: time.Hour, Start: f.start}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.Run(ctx, planned(t)); !errors.Is(err, context.DeadlineExceeded) || f.closed != 1 || f.snapshots > 0 {
			t.Errorf("in the warm-up: %v, closed %d times", err, f.closed)
		}
		w.Start = func(ctx context.Context, _ Cell) (Running, error) {
			<-ctx.Done()
			return nil, errors.New("killed")
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := w.Run(ctx, planned(t)); err != context.Canceled { //nolint:errorlint // a bare one, as main wants it
			t.Errorf("while starting: %v", err)
		}
	})
}

// What was read before the worker was lost is kept, with the reason.
func TestWorkerIsLost(t *testing.T) {
	for _, c := range []struct {
		lost    int // the snapshot that fails
		seconds float64
		tables  int
	}{{1, 0, 0}, {2, 0, 0}, {4, 2, 1}, {6, 4, 2}} {
		synctest.Test(t, func(t *testing.T) {
			f, tables := &fake{fail: c.lost}, 0
			w := Watch{Start: f.start, Interval: 2 * time.Second, Duration: time.Hour,
				Each: func(Table) error { tables++; return nil }}
			res, err := w.Run(t.Context(), planned(t))
			if !errors.Is(err, errGone) || res.Total.Seconds != c.seconds || (res.Lost == errGone.Error()) != (c.seconds > 0) ||
				tables != c.tables || f.closed != 1 {
				t.Errorf("snapshot %d: %d tables, %+v, %v", c.lost, tables, res, err)
			}
		})
	}
	w := Watch{Interval: time.Hour, Start: func(context.Context, Cell) (Running, error) { return nil, errGone }}
	if _, err := w.Run(t.Context(), planned(t)); !errors.Is(err, errGone) {
		t.Errorf("that does not start: %v", err)
	}
	full := errors.New("no space")
	f := &fake{}
	w = Watch{Start: f.start, Interval: time.Millisecond, Each: func(Table) error { return full }}
	if _, err := w.Run(t.Context(), planned(t)); !errors.Is(err, full) || f.closed != 1 {
		t.Errorf("an output that is full: %v", err)
	}
}

// Ctrl-C does not wait for long for the last counts of a worker that waits for a CPU.
func TestInterruptedWhileStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f := &fake{fail: 5}
		w := Watch{Interval: time.Hour, Start: func(life context.Context, c Cell) (Running, error) {
			f.at = func(n int) {
				if n == f.fail {
					time.AfterFunc(time.Second, cancel)
					<-life.Done()
				}
			}
			return f.start(life, c)
		}}
		begin := time.Now()
		res, err := w.Run(ctx, planned(t))
		if took := time.Since(begin); took > 5*time.Second+grace || err != nil || res.Total.Seconds != 3 || res.Lost != "" {
			t.Errorf("after %v: %+v, %v", took, res, err)
		}
	})
}
