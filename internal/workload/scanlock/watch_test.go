package scanlock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// fake is a session whose clock goes one second a snapshot, and whose threads do a
// thousand times their number a second.
type fake struct {
	cell      Cell
	snapshots int
	fail      error // of the second snapshot
	dead      error // of Check
	closed    int
	at        func(int) // told of each snapshot
}

func (f *fake) Snapshot() (Snapshot, error) {
	s := Snapshot{At: time.Duration(f.snapshots) * time.Second}
	for i, th := range f.cell.Threads {
		n := uint64(1000 * (i + 1) * f.snapshots)
		c := Count{Thread: th, CPUTime: s.At, HasCPU: true, Waited: s.At / 100, HasWaited: true}
		if th.Role == Lock {
			c.Acquisitions, c.Spins = n, 2*n
		} else {
			c.Rounds = n
		}
		s.Counts = append(s.Counts, c)
	}
	f.snapshots++
	if f.at != nil {
		f.at(f.snapshots)
	}
	if f.snapshots > 1 && f.fail != nil {
		return Snapshot{}, f.fail
	}
	return s, nil
}
func (f *fake) Check() error { return f.dead }
func (f *fake) Close() error { f.closed++; return nil }

func (f *fake) start(_ context.Context, c Cell) (Running, error) {
	f.cell = c
	return f, nil
}

func planned(t *testing.T) Plan {
	t.Helper()
	p, err := Make(asked("", ""), made(4))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRun(t *testing.T) {
	f := &fake{}
	var tables []Table
	w := Watch{Start: f.start, Interval: time.Millisecond, Duration: 3 * time.Millisecond, Each: func(t Table) error { tables = append(tables, t); return nil }}
	res, err := w.Run(t.Context(), planned(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(tables) != 3 || res.Shown || res.Interrupted || res.Total.Seconds != 3 || f.closed != 1 {
		t.Errorf("%d tables, %+v, closed %d times", len(tables), res, f.closed)
	}
	for _, table := range append(tables, res.Total) {
		if r := table.Rows[2]; r.PerSecond != 3000 || r.SpinsPerSecond != 6000 || r.SpinsPer != 2 {
			t.Errorf("%+v", r)
		}
	}
}

// An interval that would end just before the run does is not cut off by itself.
func TestLastInterval(t *testing.T) {
	f := &fake{}
	n := 0
	w := Watch{Start: f.start, Interval: 10 * time.Millisecond, Duration: 10*time.Millisecond + time.Microsecond, Each: func(Table) error { n++; return nil }}
	if res, err := w.Run(t.Context(), planned(t)); err != nil || n != 1 || !res.Shown || res.Total.Seconds != 1 {
		t.Errorf("%d tables, %+v, %v", n, res, err)
	}
}

func TestInterrupted(t *testing.T) {
	for _, duration := range []time.Duration{0, time.Hour} {
		ctx, cancel := context.WithCancel(t.Context())
		f := &fake{}
		var alive context.Context
		w := Watch{Interval: time.Millisecond, Duration: duration, Each: func(Table) error { return nil },
			Start: func(ctx context.Context, c Cell) (Running, error) { alive = ctx; return f.start(ctx, c) }}
		f.at = func(n int) {
			if n == 3 {
				cancel()
			}
			if alive.Err() != nil {
				t.Error("the worker's context ended before its last counts were read")
			}
		}
		res, err := w.Run(ctx, planned(t))
		if err != nil || res.Total.Seconds != 3 || res.Interrupted != (duration > 0) || f.closed != 1 {
			t.Errorf("duration %v: %+v, %v, closed %d times", duration, res, err, f.closed)
		}
		if alive.Err() == nil {
			t.Error("the worker's context outlives the run")
		}
	}
}

func TestInterruptedBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{}
	w := Watch{Interval: time.Second, WarmUp: time.Hour, Start: f.start}
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := w.Run(ctx, planned(t)); !errors.Is(err, context.Canceled) || f.closed != 1 || f.snapshots > 0 {
		t.Errorf("in the warm-up: %v, closed %d times", err, f.closed)
	}
	w.Start = func(ctx context.Context, _ Cell) (Running, error) {
		<-ctx.Done()
		return nil, errors.New("killed")
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := w.Run(ctx, planned(t)); err != context.Canceled { //nolint:errorlint // a bare one, as main wants it
		t.Errorf("while starting: %v", err)
	}
}

func TestWorkerThatDies(t *testing.T) {
	gone := errors.New("the worker was killed")
	for name, f := range map[string]*fake{"at a snapshot": {fail: gone}, "meanwhile": {dead: gone}} {
		w := Watch{Start: f.start, Interval: time.Hour, Duration: time.Hour}
		if f.fail != nil {
			w.Interval, w.Duration = time.Millisecond, time.Hour
		}
		if _, err := w.Run(t.Context(), planned(t)); !errors.Is(err, gone) || f.closed != 1 {
			t.Errorf("%s: %v, closed %d times", name, err, f.closed)
		}
	}
	w := Watch{Interval: time.Hour, Start: func(context.Context, Cell) (Running, error) { return nil, gone }}
	if _, err := w.Run(t.Context(), planned(t)); !errors.Is(err, gone) {
		t.Errorf("that does not start: %v", err)
	}
	full := errors.New("no space")
	f := &fake{}
	w = Watch{Start: f.start, Interval: time.Millisecond, Each: func(Table) error { return full }}
	if _, err := w.Run(t.Context(), planned(t)); !errors.Is(err, full) || f.closed != 1 {
		t.Errorf("an output that is full: %v", err)
	}
}

// What was read before the worker was lost is kept, with the reason.
func TestLostLater(t *testing.T) {
	gone := errors.New("the worker was killed")
	for _, c := range []struct {
		name     string
		interval time.Duration
		lost     int // the snapshot that fails, from 1
		seconds  float64
		tables   int
		told     bool
	}{
		{"in the first second", 10 * time.Second, 2, 0, 0, false},
		{"in the first interval", 10 * time.Second, 4, 2, 0, false},
		{"just after the first table", time.Second, 3, 1, 1, true},
		{"in the second interval", 2 * time.Second, 5, 3, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, tables := &fake{}, 0
				f.at = func(n int) {
					if n == c.lost {
						f.fail = gone
					}
				}
				w := Watch{Start: f.start, Interval: c.interval, Duration: time.Hour, Each: func(Table) error { tables++; return nil }}
				res, err := w.Run(t.Context(), planned(t))
				if !errors.Is(err, gone) || res.Total.Seconds != c.seconds || (res.Lost == gone.Error()) != (c.seconds > 0) || tables != c.tables || res.Shown != c.told || f.closed != 1 {
					t.Errorf("%d tables, %+v, %v", tables, res, err)
				}
			})
		})
	}
}

// Ctrl-C does not wait for long for the last counts of a worker that waits for a CPU.
func TestInterruptedWhileStarved(t *testing.T) {
	for _, late := range []int{1, 5} { // the snapshot that does not come
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f := &fake{}
			w := Watch{Interval: time.Hour, Start: func(life context.Context, c Cell) (Running, error) {
				f.at = func(n int) {
					if n == late {
						time.AfterFunc(time.Second, cancel)
						<-life.Done()
						f.fail, f.snapshots = life.Err(), 2
					}
				}
				return f.start(life, c)
			}}
			begin := time.Now()
			res, err := w.Run(ctx, planned(t))
			if took := time.Since(begin); took > time.Duration(late-1)*time.Second+time.Second+grace {
				t.Errorf("it took %v", took)
			}
			if late == 1 && err != context.Canceled || late > 1 && (err != nil || res.Total.Seconds != 3 || res.Lost != "") { //nolint:errorlint // a bare one, as main wants it
				t.Errorf("snapshot %d: %+v, %v", late, res, err)
			}
		})
	}
}
