//go:build system

package counters

import (
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// taskClock counts the ns that a thread ran.
var taskClock = Event{unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_TASK_CLOCK}

// TestThread: time of a thread passes while it runs, and not while it sleeps; what it starts
// counts too. The event of the kernel's own stands for those of a processor.
func TestThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	testkit.Root(t)
	c := testkit.Must(Thread(0, taskClock))(t)
	defer c.Close()
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
	}
	own := testkit.Must(c.Read())(t)
	time.Sleep(200 * time.Millisecond)
	slept := testkit.Must(c.Read())(t)
	if own.Seconds < 0.01 || own.Seconds > 0.12 || slept.Seconds-own.Seconds > 0.05 {
		t.Errorf("%.3f s after a loop of 0.1 s, %.3f s after sleeping", own.Seconds, slept.Seconds)
	}
	if ratio := own.Value / 1e9 / own.Seconds; ratio < 0.95 || ratio > 1.05 {
		t.Errorf("%.0f ns in %.3f s", own.Value, own.Seconds)
	}
	testkit.OK(t, exec.Command("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").Run())
	after := testkit.Must(c.Read())(t)
	if more := after.Seconds - slept.Seconds; more < 0.03 {
		t.Errorf("%.3f s of a child that counts", more)
	}
}

// TestGroup: the events of a CPU are counted together.
func TestGroup(t *testing.T) {
	testkit.Root(t)
	g := testkit.Must(CPU(0, taskClock, taskClock))(t)
	defer g.Close()
	time.Sleep(50 * time.Millisecond)
	v, err := g.Read()
	if err != nil || len(v) != 2 || v[0] <= 0 || v[1] <= 0 {
		t.Errorf("%v, %v", v, err)
	}
}
