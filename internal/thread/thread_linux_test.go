package thread

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"hostlab/internal/hot"
	"hostlab/internal/testkit"
)

// allowed lists the CPUs that this process may use.
func allowed(t *testing.T) []int {
	t.Helper()
	set := unix.NewCPUSet(1 << 13)
	testkit.OK(t, unix.SchedGetaffinityDynamic(0, set))
	var cpus []int
	for i := range 1 << 13 {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus
}

func TestOnPinsAndForgets(t *testing.T) {
	before := allowed(t)
	for _, cpu := range before {
		testkit.OK(t, <-On(cpu, func() error {
			if !Pinned(cpu) {
				t.Errorf("not pinned to CPU %d", cpu)
			}
			return nil
		}))
	}
	// The narrowed threads must not come back into the runtime's pool.
	for range 50 {
		done := make(chan int)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			done <- len(allowed(t))
		}()
		if n := <-done; n != len(before) {
			t.Fatalf("a later goroutine may use %d CPUs, want %d", n, len(before))
		}
	}
}

func TestPinRefuses(t *testing.T) {
	for _, cpu := range []int{-1, 8191} {
		if err := <-On(cpu, func() error { t.Errorf("ran on CPU %d", cpu); return nil }); !errors.Is(err, ErrNoCPU) {
			t.Errorf("CPU %d: %v, want ErrNoCPU", cpu, err)
		}
	}
}

func TestUsage(t *testing.T) {
	cpu := allowed(t)[0]
	err := <-On(cpu, func() error {
		start := time.Now() // before the first reading, so that wall time covers it
		a := Read()
		for u := a; u.CPU-a.CPU < 20*time.Millisecond; u = Read() {
			hot.Adds(100_000)
		}
		busy := Read().Sub(a)
		if !busy.HasCPU || busy.CPU < 20*time.Millisecond || busy.CPU > time.Since(start) {
			t.Errorf("usage %+v in %v", busy, time.Since(start))
		}
		if busy.HasWaited && busy.Waited > time.Since(start) {
			t.Errorf("waited %v of %v", busy.Waited, time.Since(start))
		}
		start = time.Now()
		a = Read()
		late, ok := Sleep(30 * time.Millisecond)
		if all := time.Since(start); !ok || late <= 0 || late > all-30*time.Millisecond {
			t.Errorf("%v late of %v in all, known %v", late, all, ok)
		}
		slept := Read().Sub(a)
		if d := time.Since(start); d < 30*time.Millisecond || slept.CPU > 10*time.Millisecond {
			t.Errorf("slept %v and used %v", d, slept.CPU)
		}
		return nil
	})
	testkit.OK(t, err)
}

// Two threads on one CPU must see each other as waiting.
func TestWaitedSeesCompany(t *testing.T) {
	cpu := allowed(t)[0]
	spin := func() (u Usage, wall time.Duration) {
		a, start := Read(), time.Now()
		for time.Since(start) < 100*time.Millisecond {
			hot.Adds(100_000)
		}
		return Read().Sub(a), time.Since(start)
	}
	var u [2]Usage
	var ends [2]<-chan error
	for i := range ends {
		ends[i] = On(cpu, func() error { u[i], _ = spin(); return nil })
	}
	for i, end := range ends {
		testkit.OK(t, <-end)
		if u[i].HasWaited && u[i].Waited < 10*time.Millisecond {
			t.Errorf("thread %d waited only %v beside another on its CPU", i, u[i].Waited)
		}
	}
}

// A thread may use the CPUs that it is given, all of them and no others.
func TestWithin(t *testing.T) {
	all := testkit.Must(Allowed())(t)
	for _, c := range []struct{ given, want []int }{{nil, all}, {all, all}, {all[:1], all[:1]}} {
		var got []int
		err := <-Within(c.given, func() (err error) {
			got, err = Allowed()
			return err
		})
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%v: %s%v", c.given, diff, err)
		}
	}
	for _, given := range [][]int{{1 << 12}, {-1}, {0, -1}} {
		if err := <-Within(given, func() error { return nil }); !errors.Is(err, ErrNoCPU) {
			t.Errorf("%v: %v", given, err)
		}
	}
}

// A thread's usage and affinity are the same from outside.
func TestOfAnotherThread(t *testing.T) {
	cpus := allowed(t)
	id, end := make(chan ID), make(chan struct{})
	done := On(cpus[0], func() error {
		id <- Self()
		for i := 0; ; i++ {
			select {
			case <-end:
				return nil
			default:
				hot.Adds(100_000)
			}
		}
	})
	other := <-id
	before := other.Read()
	for deadline := testkit.End(t); other.Read().Sub(before).CPU < 20*time.Millisecond; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the other thread used %+v", other.Read().Sub(before))
		}
	}
	if !other.Pinned(cpus[0]) || other.Pinned(cpus[0]+1) {
		t.Errorf("pinned to CPU %d: %v, to the next: %v", cpus[0], other.Pinned(cpus[0]), other.Pinned(cpus[0]+1))
	}
	close(end)
	testkit.OK(t, <-done)
}

// Timers of this thread may end late, and then as before.
func TestLazily(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	slack := func() time.Duration {
		return time.Duration(testkit.Must(unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0))(t))
	}
	before := slack()
	undo := Lazily(7 * time.Millisecond)
	testkit.Is(t, 7*time.Millisecond, slack(), "slack")
	undo()
	testkit.Is(t, before, slack(), "slack after it")
}
