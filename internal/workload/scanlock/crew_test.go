package scanlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"hostlab/internal/hot"
	"hostlab/internal/systemtest"
	"hostlab/internal/thread"
	"hostlab/internal/worker"
)

// driver makes this test binary play a hostlab that runs a session until it is
// interrupted.
const driver = "HOSTLAB_TEST_DRIVER"

func drive() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := Start(ctx, Cell{Threads: []Thread{{0, Lock}, {0, Pause}}})
	if err != nil {
		panic(err)
	}
	fmt.Println(s.worker.PID())
	<-ctx.Done()
	s.Close()
	os.Exit(0)
}

// TestMain makes of this process what package worker makes of its own: the tests of
// crews run loops in it that nothing can preempt.
func TestMain(m *testing.M) {
	worker.Main(Jobs())
	if os.Getenv(driver) != "" {
		drive()
	}
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 8))
	debug.SetGCPercent(-1)
	os.Exit(m.Run())
}

// twoCPUs are two CPUs that this process may use; where there is only one, that one twice.
func twoCPUs(t *testing.T) [2]int {
	t.Helper()
	all, err := thread.Allowed()
	if err != nil || len(all) == 0 {
		t.Fatal("no CPUs", err)
	}
	return [2]int{all[0], all[len(all)-1]}
}

// runCrew lets a cell's threads run until ok says so, and returns their last counts.
func runCrew(t *testing.T, c Cell, ok func(Snapshot) bool) (*crew, Snapshot) {
	t.Helper()
	c, err := c.checked()
	if err != nil {
		t.Fatal(err)
	}
	w := muster(c, hot.StartClock())
	defer w.end()
	deadline := systemtest.End(t)
	for {
		if f := w.failure(); f != nil {
			t.Fatal(f)
		}
		if _, some := w.missing(); !some {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("threads did not arrive")
		}
		time.Sleep(time.Millisecond)
	}
	w.run()
	last := Snapshot{Counts: make([]Count, len(c.Threads))}
	for {
		s, f := w.snapshot()
		if f != nil {
			t.Fatal(f)
		}
		for i, n := range s.Counts {
			if was := last.Counts[i]; n.Acquisitions < was.Acquisitions || n.Spins < was.Spins || n.Rounds < was.Rounds || n.CPUTime < was.CPUTime {
				t.Fatalf("counters fell from %+v to %+v", was, n)
			}
		}
		if s.At < last.At {
			t.Fatalf("time fell from %v to %v", last.At, s.At)
		}
		if last = s; ok(s) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v: after 20 s %+v", c, s)
		}
		time.Sleep(time.Millisecond)
	}
	w.end()
	last, _ = w.snapshot()
	return w, last
}

// Each lock lets one thread in at a time, and each thread sometime, in either layout,
// timed or not.
func TestLocksExclude(t *testing.T) {
	on := twoCPUs(t)
	for _, kind := range Locks {
		if kind == Mutex && runtime.GOOS != "linux" && runtime.GOOS != "windows" {
			continue
		}
		for _, layout := range Layouts {
			for _, timed := range []bool{false, true} {
				c := Cell{Threads: []Thread{{on[0], Lock}, {on[1], Lock}}, Lock: kind, Layout: layout, Timed: timed, Touch: true, Critical: 20, Parallel: 20}
				w, s := runCrew(t, c, func(s Snapshot) bool { return s.Counts[0].Acquisitions > 100 && s.Counts[1].Acquisitions > 100 })
				sum := s.Counts[0].Acquisitions + s.Counts[1].Acquisitions
				if w.lock.Guarded != sum {
					t.Errorf("%s: %d acquisitions, %d touches", kind, sum, w.lock.Guarded)
				}
				var waits uint64
				for _, n := range s.Waits {
					waits += n
				}
				if timed && waits != sum || !timed && s.Waits != nil {
					t.Errorf("%s: %d acquisitions, %d waits timed (%v)", kind, sum, waits, timed)
				}
				far := uintptr(unsafe.Pointer(w.lanes[1])) - uintptr(unsafe.Pointer(w.lanes[0]))
				if want := map[Layout]uintptr{Padded: 128, Packed: 16}[layout]; far != want {
					t.Errorf("%s: counters %d bytes apart, want %d", layout, far, want)
				}
			}
		}
	}
}

// A mutex's waiters sleep: who waits for one that is held for long uses little CPU.
func TestMutexSleeps(t *testing.T) {
	on := twoCPUs(t)
	c := Cell{Threads: []Thread{{on[0], Lock}, {on[1], Lock}}, Lock: Mutex, Critical: 30_000_000}
	_, s := runCrew(t, c, func(s Snapshot) bool { return s.Counts[0].Acquisitions+s.Counts[1].Acquisitions > 12 })
	if n := s.Counts[0]; n.HasCPU && s.Counts[0].CPUTime+s.Counts[1].CPUTime > 3*s.At/2 {
		t.Errorf("two threads used %v and %v of %v, though one of them always waits", s.Counts[0].CPUTime, s.Counts[1].CPUTime, s.At)
	}
}

// Every role counts what it does and nothing else.
func TestRoles(t *testing.T) {
	on := twoCPUs(t)
	for _, role := range Roles {
		c := Cell{Threads: []Thread{{on[0], role}}, ScanSize: 4096, Layout: Packed}
		_, s := runCrew(t, c, func(s Snapshot) bool {
			n := s.Counts[0]
			return n.Acquisitions+n.Rounds > 10 && (!n.HasCPU || n.CPUTime > 0)
		})
		n := s.Counts[0]
		if (role == Scan) != (n.Bytes == 4096*n.Rounds && n.Bytes > 0) {
			t.Errorf("%s: %d bytes in %d rounds", role, n.Bytes, n.Rounds)
		}
		if n.Thread != c.Threads[0] || role.Takes() != (n.Acquisitions > 0) || role.Takes() == (n.Rounds > 0) || n.Spins != 0 {
			t.Errorf("%s: %+v", role, n)
		}
	}
}

// Threads with locks of their own never find them held.
func TestOwnLocks(t *testing.T) {
	on := twoCPUs(t)
	for _, kind := range []LockKind{TAS, TTAS, Ticket, MCS} {
		c := Cell{Threads: []Thread{{on[0], Own}, {on[1], Own}}, Lock: kind}
		_, s := runCrew(t, c, func(s Snapshot) bool { return s.Counts[0].Acquisitions > 1000 && s.Counts[1].Acquisitions > 1000 })
		if s.Counts[0].Spins+s.Counts[1].Spins > 0 {
			t.Errorf("%s: %+v", kind, s.Counts)
		}
	}
}

func TestClasses(t *testing.T) {
	edges := WaitEdges()
	if n := len(edges); n != 111 || edges[0] != 1e-9 || edges[n-1] < 99.99 || edges[n-1] > 100.01 {
		t.Fatalf("%d edges from %g to %g", n, edges[0], edges[n-1])
	}
	var a, b hot.Waits
	a.Add(5)         // 5 ns at 1 GHz
	b.Add(1_000_000) // 1 ms
	b.Add(1 << 62)   // for ever
	for ghz, want := range map[float64]float64{1: 5e-9, 5: 1e-9} {
		got := classes([]*hot.Waits{&a, nil, &b}, ghz*1e9)
		at, found := slices.BinarySearch(edges, want*0.9999)
		if found || got[at] != 1 || got[len(got)-1] != 1 {
			t.Errorf("at %g GHz: 5 ticks not in the class up to %g s: %v", ghz, edges[at], got)
		}
		sum := uint64(0)
		for _, n := range got {
			sum += n
		}
		if sum != 3 {
			t.Errorf("%d waits of 3", sum)
		}
	}
}

func TestChecked(t *testing.T) {
	one := []Thread{{0, Lock}}
	for text, c := range map[string]Cell{
		"no threads":   {},
		`lock "spin"`:  {Threads: one, Lock: "spin"},
		`layout "c"`:   {Threads: one, Layout: "c"},
		`role "dance"`: {Threads: []Thread{{3, "dance"}}},
		"CPU 3":        {Threads: []Thread{{3, ""}}},
		"64 bytes":     {Threads: one, ScanSize: 64},
		"negative":     {Threads: one, Parallel: -1},
	} {
		if _, err := c.checked(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("want an error with %q: %v", text, err)
		}
	}
	c, err := Cell{Threads: one}.checked()
	if err != nil || c.Lock != TTAS || c.Layout != Padded || c.ScanSize != 1<<20 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestMissingCPUIsNamed(t *testing.T) {
	for _, cpu := range []int{-1, 8191} {
		_, err := Start(t.Context(), Cell{Threads: []Thread{{twoCPUs(t)[0], Scan}, {cpu, Lock}}})
		if !errors.Is(err, thread.ErrNoCPU) || !strings.Contains(err.Error(), "CPU "+map[int]string{-1: "-1", 8191: "8191"}[cpu]) || strings.Contains(err.Error(), "\n") {
			t.Errorf("CPU %d: %v", cpu, err)
		}
	}
}

// A cell that runs in this process tells what its threads did in a stretch, and which CPU
// cannot be used.
func TestCellRun(t *testing.T) {
	on := twoCPUs(t)
	c := Cell{Threads: []Thread{{on[0], Lock}, {on[1], Scan}}, ScanSize: 1 << 20}
	did, seconds, err := c.Run(hot.StartClock(), time.Millisecond, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if len(did) != 2 || seconds < 0.02 || did[0].Acquisitions == 0 || did[1].Acquisitions != 0 || did[1].Bytes == 0 {
		t.Errorf("%+v in %g s", did, seconds)
	}
	for _, n := range did {
		if n.HasCPU && n.CPUTime <= 0 {
			t.Errorf("%+v had no CPU", n)
		}
	}
	c.Threads[1].CPU = 8191
	if _, _, err := c.Run(hot.StartClock(), time.Millisecond, time.Millisecond); !errors.Is(err, thread.ErrNoCPU) {
		t.Errorf("CPU 8191: %v", err)
	}
}
