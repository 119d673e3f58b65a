package explain

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// even makes stretches of one second, all alike.
func even(n int, s map[Key]float64) (out []Batch) {
	for range n {
		out = append(out, Batch{Wall: 1, Snapshots: 50, Seconds: s})
	}
	return out
}

func find(parts []Part, name PartName) Part {
	for _, p := range parts {
		if p.Name == name {
			return p
		}
	}
	return Part{}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: %v, expected %v", what, got, want)
	}
}

func TestDecompose(t *testing.T) {
	sampled := map[Key]float64{{Part: DatabaseCPU, Event: OnCPU}: 0.5, {Part: LogWait, Event: "IO:WALSync"}: 0.3,
		{Part: Application, Event: "Client:ClientRead"}:        0.2,
		{Part: LogWait, Event: "IO:WALSync", Background: true}: 0.1}
	t.Run("counters take the place of samples", func(t *testing.T) {
		a := Account{Counted: []Counted{{Part: LogWait, Events: []string{"IO:WALSync"}, Seconds: 2, Count: 1000,
			Source: "pg_stat_wal", All: true}}}
		elapsed, parts, events, _ := Decompose(even(10, sampled), a)
		near(t, "elapsed", elapsed, 10)
		near(t, "clients' part of the log", find(parts, LogWait).Seconds, 1.5)
		near(t, "what the samples had too much is unexplained", find(parts, Unexplained).Seconds, 1.5)
		for _, e := range events {
			if e.Name == "IO:WALSync" && (e.Count != 1000 || math.Abs(*e.Average-0.002) > 1e-12) {
				t.Errorf("event: %+v", e)
			}
		}
	})
	t.Run("counted CPU fills up", func(t *testing.T) {
		a := Account{Counted: []Counted{{Part: LogWait, Events: []string{"IO:WALSync"}, Seconds: 1.5}},
			CPU: &CPUTime{Run: 4, Queue: 9, Source: "schedstat"}}
		_, parts, _, warnings := Decompose(even(10, sampled), a)
		near(t, "CPU", find(parts, DatabaseCPU).Seconds, 4)
		near(t, "no more wait for a CPU than there is time", find(parts, RunQueue).Seconds, 6)
		near(t, "the log's wait was one for a CPU", find(parts, LogWait).Within, 1.5)
		near(t, "the application has none", find(parts, Application).Seconds, 0)
		testkit.Is(t, 1, len(warnings), "warnings", warnings)
	})
	t.Run("what did not show as running is taken out of waits", func(t *testing.T) {
		waits := map[Key]float64{{Part: Idle, Event: "Client:ClientRead"}: 0.6,
			{Part: Application, Event: "Client:ClientRead"}: 0.2, {Part: LogWait, Event: "IO:WALSync"}: 0.1,
			{Part: DatabaseCPU, Event: OnCPU}: 0.1}
		elapsed, parts, events, warnings := Decompose(even(10, waits),
			Account{CPU: &CPUTime{Run: 0.5, Queue: 4.5, Source: "schedstat"}})
		r := Report{Elapsed: elapsed, Parts: parts, Events: events}
		r.Busy = r.Elapsed - r.Part(Idle).Seconds
		near(t, "all that was counted", find(parts, RunQueue).Seconds, 4.5)
		near(t, "its interval", find(parts, RunQueue).Share.High, 0.45)
		near(t, "of 4 s a third, and no more than half of it", find(parts, LogWait).Seconds, 0.5)
		near(t, "the application", find(parts, Application).Seconds, 1)
		near(t, "idle has the rest", find(parts, Idle).Seconds, 3.5)
		if low := find(parts, Idle).Share.Low; low > 0.2 {
			t.Errorf("it may be all of idle: at least %v", low)
		}
		near(t, "unexplained", find(parts, Unexplained).Seconds, 0)
		testkit.Is(t, 0, len(warnings), "warnings", warnings)
		b := r.Saving(RunQueue, nil)
		near(t, "share", b.Share, 4.5/6.5)
		near(t, "likely", b.Likely, 4.5/6.5)
	})
	t.Run("idle sessions had nothing that was never sampled", func(t *testing.T) {
		alone := map[Key]float64{{Part: DatabaseCPU, Event: OnCPU}: 1}
		among := map[Key]float64{{Part: DatabaseCPU, Event: OnCPU}: 1, {Part: Idle, Event: "Client:ClientRead"}: 1999}
		var most []float64
		for _, seconds := range []map[Key]float64{alone, among} {
			elapsed, parts, _, _ := Decompose(even(10, seconds), Account{})
			most = append(most, find(parts, LogWait).Share.High*elapsed)
		}
		near(t, "of as many seconds of work", most[1], most[0])
	})
	t.Run("what was never sampled is bounded by what was counted", func(t *testing.T) {
		running := map[Key]float64{{Part: DatabaseCPU, Event: OnCPU}: 2}
		for n, want := range map[float64]float64{0: 0, 1: 2 * Longest / 20} {
			_, parts, _, _ := Decompose(even(10, running), Account{Waits: map[PartName]float64{LogWait: n}})
			near(t, "the log", find(parts, LogWait).Share.High, want)
		}
		_, parts, _, _ := Decompose(even(10, running), Account{})
		if high := find(parts, LogWait).Share.High; high < 0.007 {
			t.Errorf("samples alone leave no more than %v", high)
		}
	})
	t.Run("too much is taken from what was sampled", func(t *testing.T) {
		_, parts, _, _ := Decompose(even(10, sampled), Account{CPU: &CPUTime{Run: 7}})
		near(t, "CPU", find(parts, DatabaseCPU).Seconds, 7)
		near(t, "application", find(parts, Application).Seconds, 1)
	})
	t.Run("a sleep that shows as running is no wait that shows", func(t *testing.T) {
		sleeps := map[Key]float64{{Part: DatabaseCPU, Event: OnCPU}: 0.9,
			{Part: Application, Event: "Client:ClientRead"}: 0.1}
		_, parts, _, _ := Decompose(even(10, sleeps), Account{Told: true, CPU: &CPUTime{Run: 1, Queue: 1},
			Counted: []Counted{{Part: OtherWaits, Events: []string{"Timeout:CommitDelay"}, Seconds: 20, Count: 100,
				Blocked: true}}})
		near(t, "the sleep", find(parts, OtherWaits).Seconds, 7)
		near(t, "the application", find(parts, Application).Seconds, 1)
	})
	t.Run("what is blocked is what was only counted", func(t *testing.T) {
		running := map[Key]float64{{Part: DatabaseCPU, Event: Executing}: 1}
		for most, want := range map[float64]float64{100: 5, 3: 3} {
			_, parts, _, _ := Decompose(even(10, running), Account{CPU: &CPUTime{Run: 4, Queue: 1},
				Counted: []Counted{{Part: DataReads, Events: []string{"read"}, Seconds: most, Count: 7, Blocked: true}}})
			near(t, "reads", find(parts, DataReads).Seconds, want)
			near(t, "at least", find(parts, DataReads).Share.Low, 0)
			near(t, "unexplained", find(parts, Unexplained).Seconds, 5-want)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		elapsed, parts, _, _ := Decompose(even(3, nil), Account{})
		if elapsed != 0 || len(parts) != 7 {
			t.Errorf("%v s, %d parts", elapsed, len(parts))
		}
	})
}

// Whatever is sampled and counted, parts add up, and intervals hold their shares. The same gives the same, to the last
// digit.
func TestPartsAddUp(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		var batches []Batch
		for range rapid.IntRange(1, 40).Draw(t, "stretches") {
			s := map[Key]float64{}
			for _, p := range OfSessions[:8] {
				s[Key{Part: p, Event: string(p)}] = rapid.Float64Range(0, 5).Draw(t, "s")
			}
			batches = append(batches, Batch{Wall: 1, Snapshots: 20, Seconds: s})
		}
		a := Account{Counted: []Counted{{Part: LogWait, Events: []string{string(LogWait)},
			Seconds: rapid.Float64Range(0, 500).Draw(t, "log"), All: rapid.Bool().Draw(t, "all")},
			{Part: Locks, Events: []string{"row"}, Seconds: rapid.Float64Range(0, 50).Draw(t, "row"),
				From: string(DatabaseCPU)}}}
		if rapid.Bool().Draw(t, "cpu known") {
			a.CPU = &CPUTime{Run: rapid.Float64Range(0, 500).Draw(t, "run"), Queue: rapid.Float64Range(0, 500).Draw(t, "queue")}
		}
		elapsed, parts, events, _ := Decompose(batches, a)
		var sum, ev float64
		for _, p := range parts {
			sum += p.Seconds
			if p.Seconds < 0 || !p.Share.Contains(p.Share.Value) || p.Share.Low < 0 || p.Share.High > 1 {
				t.Fatalf("part %+v", p)
			}
			if p.Name == Unexplained {
				ev += p.Seconds
			}
		}
		for _, e := range events {
			ev += e.Seconds
		}
		if math.Abs(sum-elapsed) > 0.001*elapsed || math.Abs(ev-elapsed) > 0.001*elapsed {
			t.Fatalf("parts %v, events %v, elapsed %v", sum, ev, elapsed)
		}
		for range 3 {
			_, parts2, events2, _ := Decompose(batches, a)
			if !reflect.DeepEqual(parts, parts2) || !reflect.DeepEqual(events, events2) {
				t.Fatalf("again: %v and %v, before: %v and %v", parts2, events2, parts, events)
			}
		}
	})
}

// An interval from samples that correlate is wider than one from as many that do not.
func TestRatio(t *testing.T) {
	den := make([]float64, 30)
	same, runs := make([]float64, 30), make([]float64, 30)
	for i := range den {
		den[i], same[i] = 1, 0.1+0.01*float64(i%3)
		if i < 3 {
			runs[i] = 1
		}
	}
	p, l, h, _ := ratio(same, den, 3000, 30)
	q, l2, h2, _ := ratio(runs, den, 3000, 30)
	if !(l < p && p < h && l2 < q && q < h2) || h2-l2 < 3*(h-l) {
		t.Errorf("[%v %v %v], [%v %v %v]", l, p, h, l2, q, h2)
	}
	if p, _, h, _ := ratio(make([]float64, 30), den, 300, 30); p != 0 || h < 0.005 || h > 0.05 {
		t.Errorf("never seen in 300 looks: %v up to %v", p, h)
	}
}

// Equal stretches have no variance between them: the number of samples is what was
// looked at, whatever the length of a stretch.
func TestSamplesAreNoMoreThanLooks(t *testing.T) {
	for _, c := range []struct{ sessions, stretch, looks float64 }{{1, 120, 3600}, {1, 2, 60}, {4, 120, 3600},
		{4, 0.5, 60}} {
		num, den := make([]float64, 30), make([]float64, 30)
		for i := range den {
			den[i] = c.sessions * c.stretch
			num[i] = 0.3 * den[i] * (1 + 1e-6*float64(i%2))
		}
		_, low, high, n := ratio(num, den, int(c.looks), 30*c.stretch)
		if near(t, "samples", n, c.looks*c.sessions); high-low < 2*1.96*math.Sqrt(0.21/(c.looks*c.sessions)) {
			t.Errorf("%+v: [%v, %v]", c, low, high)
		}
	}
}

// fake is a server with one session that a script decides.
type fake struct {
	sample func(n int) (Snapshot, error)
	count  func(n int) (Counters, error)
	s, c   int
}

func (f *fake) Server() Server        { return Server{Vendor: "Fake", Version: "1"} }
func (f *fake) Meaning(string) string { return "" }
func (f *fake) Close() error          { return nil }
func (f *fake) Account(g Growth) Account {
	return Account{Log: NoLog(), Transactions: int64(g.Get("n"))}
}
func (f *fake) Sample(context.Context) ([]Snapshot, error) {
	f.s++
	s, err := f.sample(f.s)
	return []Snapshot{s}, err
}
func (f *fake) Count(context.Context) (Counters, error) {
	f.c++
	return f.count(f.c)
}

func busySession(int) (Snapshot, error) {
	return Snapshot{Sessions: []Session{{ID: 1, Part: DatabaseCPU, Event: OnCPU}}}, nil
}

func steady(n int) (Counters, error) {
	return Counters{Epoch: "a", Values: map[string]int64{"n": int64(10 * n)}}, nil
}

// record watches a server for ten seconds, in which the time of day is stepped.
func record(t *testing.T, f *fake, step time.Duration) (r Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		timeOfDay := func() time.Time {
			if looks++; looks == 1 {
				return time.Now()
			}
			return time.Now().Add(step)
		}
		var err error
		if r, err = Record(t.Context(), f, Options{For: 10 * time.Second, timeOfDay: timeOfDay}); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

func warned(r Report, text string) bool {
	return strings.Contains(strings.Join(r.Warnings, "; "), text)
}

func TestRecord(t *testing.T) {
	r := record(t, &fake{sample: busySession, count: steady}, 0)
	near(t, "elapsed", r.Elapsed, 10)
	near(t, "CPU", r.Part(DatabaseCPU).Share.Value, 1)
	if r.Ended != "" || r.Transactions < 90 {
		t.Errorf("%+v", r)
	}

	r = record(t, &fake{sample: busySession, count: steady}, time.Hour)
	if near(t, "wall", r.Wall, 10); !warned(r, "stepped by 3600.0 s") {
		t.Errorf("clock step: %q", r.Warnings)
	}

	r = record(t, &fake{sample: busySession, count: func(n int) (Counters, error) {
		c, _ := steady(n)
		if n > 5 { // restarted: everything from 0
			c.Epoch, c.Values["n"] = "b", int64(n-5)
		}
		return c, nil
	}}, 0)
	if !warned(r, "counters were reset") || r.Elapsed > 9.5 {
		t.Errorf("restart: %v s, %q", r.Elapsed, r.Warnings)
	}

	r = record(t, &fake{count: steady, sample: func(n int) (Snapshot, error) {
		if n > 150 {
			return Snapshot{}, errors.New("gone")
		}
		return busySession(n)
	}}, 0)
	if r.Ended != "gone" || r.Wall < 1 || r.Wall > 9 {
		t.Errorf("killed: %q after %v s", r.Ended, r.Wall)
	}

	none := func(int) (Snapshot, error) { return Snapshot{}, nil }
	if r = record(t, &fake{sample: none, count: steady}, 0); r.Busy != 0 || r.Saving(LogWait, nil) != (Saving{}) {
		t.Errorf("idle server: %+v", r)
	}

	// Pauses between transactions are idle, however short, the last one too.
	pauses := func(n int) (Snapshot, error) {
		if n%10 == 0 {
			return busySession(n)
		}
		return Snapshot{Sessions: []Session{{ID: 1, Part: Idle, Event: "Sleep"}}}, nil
	}
	if r = record(t, &fake{sample: pauses, count: steady}, 0); r.Part(Application).Share.Value != 0 ||
		math.Abs(r.Busy/r.Elapsed-0.1) > 0.02 || r.Peak != 1 {
		t.Errorf("pauses: busy %v of %v, %+v", r.Busy, r.Elapsed, r.Parts)
	}
}

// costly is a server that tells what it uses until it goes away: 0.1 % of a CPU.
type costly struct {
	*fake
	began time.Time
}

func (c *costly) gone() bool { return time.Since(c.began) > 6*time.Second }

func (c *costly) OwnCPU() (float64, bool) {
	if c.gone() {
		return 0, false
	}
	return time.Since(c.began).Seconds() * 0.001, true
}

// Sample answers after 30 ms, in which next to no CPU is used.
func (c *costly) Sample(ctx context.Context) ([]Snapshot, error) {
	time.Sleep(30 * time.Millisecond)
	if c.gone() {
		return nil, errors.New("gone")
	}
	return c.fake.Sample(ctx)
}

// What asking takes is CPU time also where the server has gone since; where it never
// told, the time until answers came is called an upper limit.
func TestCost(t *testing.T) {
	run := func(wrap func(*costly) Source) (r Report) {
		synctest.Test(t, func(t *testing.T) {
			var err error
			r, err = Record(t.Context(), wrap(&costly{&fake{sample: busySession, count: steady}, time.Now()}),
				Options{For: 10 * time.Second, Interval: 100 * time.Millisecond})
			if err != nil || r.Ended != "gone" {
				t.Fatalf("%v, ended %q", err, r.Ended)
			}
		})
		return r
	}
	if r := run(func(c *costly) Source { return c }); r.CostAtMost || r.Cost > 0.05 {
		t.Errorf("a server that told and has gone: %v, upper limit %v", r.Cost, r.CostAtMost)
	}
	if r := run(func(c *costly) Source { return struct{ Source }{c} }); !r.CostAtMost || r.Cost < 0.15 {
		t.Errorf("a server that does not tell: %v, upper limit %v", r.Cost, r.CostAtMost)
	}
}

func TestBoundsHoldLocksBehind(t *testing.T) {
	r := Report{Elapsed: 10, Busy: 8, Parts: []Part{{Name: LogWait, Seconds: 2,
		Share: result.Estimate{Value: 0.2, Low: 0.1, High: 0.3}}, {Name: Locks, Seconds: 1,
		Share: result.Estimate{Value: 0.1, Low: 0.1, High: 0.1}},
		{Name: Idle, Seconds: 2}, {Name: Unexplained, Seconds: 0.4}}}
	b := r.Saving(LogWait, nil)
	near(t, "share", b.Share, 0.25)
	near(t, "likely", b.Likely, (2+2*1.0/7)/8)
	near(t, "at most", b.AtMost, (3+1+0.4)/8)
}

// What the log's waits took of CPUs goes away with them: within its calls, and 60 us of each; half of the CPU
// time where nobody counted them, and no longer than they took.
func TestBoundsHoldWhatWaitsBringAlong(t *testing.T) {
	part := func(name PartName, seconds, within float64) Part {
		return Part{Name: name, Seconds: seconds, Within: within, Source: "x",
			Share: result.Estimate{Value: seconds / 100, Low: seconds / 100, High: (seconds + within) / 100}}
	}
	r := Report{Elapsed: 100, Busy: 100, Parts: []Part{part(DatabaseCPU, 50, 0), part(LogWait, 20, 10),
		part(RunQueue, 30, 0)},
		Events: []Event{{Part: LogWait, Count: 100_000}}}
	b := r.Saving(LogWait, nil)
	near(t, "share", b.Share, 0.2)
	near(t, "likely", b.Likely, 0.3)
	near(t, "at most", b.AtMost, 0.36)
	r.Events = nil
	near(t, "at most, not counted", r.Saving(LogWait, nil).AtMost, 0.5)
}
