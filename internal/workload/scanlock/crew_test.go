package scanlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"hostlab/internal/testkit"
	"hostlab/internal/thread"
	"hostlab/internal/worker"
)

// driver makes this test binary play a hostlab that runs a session until it is
// interrupted.
const driver = "HOSTLAB_TEST_DRIVER"

func drive() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := Start(ctx, Cell{Threads: []Thread{{0, Lock}, {0, Scan}}})
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
func runCrew(t *testing.T, c Cell, ok func(Snapshot) bool) Snapshot {
	t.Helper()
	c = testkit.Must(c.checked())(t)
	w := muster(c)
	defer w.end()
	deadline := testkit.End(t)
	for {
		testkit.OK(t, w.failure())
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
		s := testkit.Must(w.snapshot())(t)
		for i, n := range s.Counts {
			if was := last.Counts[i]; n.Acquisitions < was.Acquisitions || n.Spins < was.Spins || n.Rounds < was.Rounds ||
				n.CPUTime < was.CPUTime {
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
	return last
}

// Every role counts what it does and nothing else.
func TestRoles(t *testing.T) {
	on := twoCPUs(t)
	for _, role := range []Role{Lock, Scan} {
		c := Cell{Threads: []Thread{{on[0], role}}, ScanSize: 4096}
		s := runCrew(t, c, func(s Snapshot) bool {
			n := s.Counts[0]
			return n.Acquisitions+n.Rounds > 10 && (!n.HasCPU || n.CPUTime > 0)
		})
		n := s.Counts[0]
		if (role == Scan) != (n.Bytes == 4096*n.Rounds && n.Bytes > 0) {
			t.Errorf("%s: %d bytes in %d rounds", role, n.Bytes, n.Rounds)
		}
		if n.Thread != c.Threads[0] || (role == Lock) != (n.Acquisitions > 0) || (role == Lock) == (n.Rounds > 0) ||
			n.Spins != 0 {
			t.Errorf("%s: %+v", role, n)
		}
	}
}

func TestChecked(t *testing.T) {
	one := []Thread{{0, Lock}}
	for text, c := range map[string]Cell{
		"no threads":   {},
		`role "dance"`: {Threads: []Thread{{3, "dance"}}},
		"CPU 3":        {Threads: []Thread{{3, ""}}},
		"64 bytes":     {Threads: one, ScanSize: 64},
	} {
		testkit.Refused(c.checked())(t, text, "want an error with")
	}
	if c, err := (Cell{Threads: one}).checked(); err != nil || c.ScanSize != 1<<20 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestMissingCPUIsNamed(t *testing.T) {
	for _, cpu := range []int{-1, 8191} {
		_, err := Start(t.Context(), Cell{Threads: []Thread{{twoCPUs(t)[0], Scan}, {cpu, Lock}}})
		if !errors.Is(err, thread.ErrNoCPU) || !strings.Contains(err.Error(),
			"CPU "+map[int]string{-1: "-1", 8191: "8191"}[cpu]) || strings.Contains(err.Error(), "\n") {
			t.Errorf("CPU %d: %v", cpu, err)
		}
	}
}

// A cell that runs in this process tells what its threads did in a stretch, and which CPU
// cannot be used.
func TestCellRun(t *testing.T) {
	on := twoCPUs(t)
	c := Cell{Threads: []Thread{{on[0], Lock}, {on[1], Scan}}, ScanSize: 1 << 20}
	did, seconds, err := c.Run(time.Millisecond, 20*time.Millisecond)
	testkit.OK(t, err)
	if len(did) != 2 || seconds < 0.02 || did[0].Acquisitions == 0 || did[1].Acquisitions != 0 || did[1].Bytes == 0 {
		t.Errorf("%+v in %g s", did, seconds)
	}
	for _, n := range did {
		if n.HasCPU && n.CPUTime <= 0 {
			t.Errorf("%+v had no CPU", n)
		}
	}
	c.Threads[1].CPU = 8191
	if _, _, err := c.Run(time.Millisecond, time.Millisecond); !errors.Is(err, thread.ErrNoCPU) {
		t.Errorf("CPU 8191: %v", err)
	}
}
