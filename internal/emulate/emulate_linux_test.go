//go:build system

package emulate

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hostlab/internal/hot"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
	"hostlab/internal/worker"
)

// role makes this test's program one that spins, or one that emulates and waits.
const role = "HOSTLAB_TEST_ROLE"

func TestMain(m *testing.M) {
	worker.Main(Jobs())
	switch os.Getenv(role) {
	case "spin":
		for n := uint64(1); n > 0; {
			hot.Adds(1 << 20)
		}
	case "parent":
		parent()
	}
	os.Exit(m.Run())
}

// spinner starts a process that computes.
func spinner() (*exec.Cmd, error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), role+"=spin")
	return cmd, cmd.Start()
}

func start(t *testing.T) int {
	t.Helper()
	cmd := testkit.Must(spinner())(t)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

// parent emulates with a child, says both processes' numbers and waits to be killed.
func parent() {
	e, err := Start()
	if err == nil {
		err = e.Set("fixed:20", 0.05)
	}
	child, cerr := spinner()
	if err != nil || cerr != nil {
		fmt.Println(err, cerr)
		os.Exit(1)
	}
	time.Sleep(300 * time.Millisecond)
	_, err = e.Totals()
	fmt.Println(child.Process.Pid, e.s.PID(), err)
	select {}
}

// TestSpeed slows a real process down and lets it go.
func TestSpeed(t *testing.T) {
	pid := start(t)
	e := testkit.Must(Start())(t)
	defer e.Close()
	share := func(policy string) float64 {
		testkit.OK(t, e.Set(policy, 0.05))
		time.Sleep(300 * time.Millisecond)
		before, _, _ := proc.Schedstat(strconv.Itoa(pid))
		began := time.Now()
		time.Sleep(600 * time.Millisecond)
		after, _, _ := proc.Schedstat(strconv.Itoa(pid))
		return float64(after-before) / float64(time.Since(began))
	}
	before := testkit.Must(e.Totals())(t)
	// Others on this host can only take from it, so that a share has a bound above alone.
	got := share("fixed:30")
	if got > 0.4 {
		t.Errorf("a process at 30 %% of its speed got %.2f of the time", got)
	}
	total, err := e.Totals()
	if err != nil || !(total.Clocked > 1.1*total.Used) || !(total.Asked > 0) {
		t.Errorf("totals %+v, error %v", total, err)
	}
	alone := got > 0.25
	if did := total.Sub(before); !(did.Asked > 0) || alone && !(did.Kept > 0.4*did.Asked) || did.Kept > 1.25*did.Asked {
		t.Errorf("kept from its CPU for %.3f s of %.3f s asked", did.Kept, did.Asked)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if s := stateOf(pid); s == "T" {
		t.Error("the process is still stopped")
	}
}

// TestParentKilled kills the process that emulates: what it slowed down runs on freely.
func TestParentKilled(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), role+"=parent")
	out := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	line, _ := bufio.NewReader(out).ReadString('\n')
	var child, governor int
	if _, err := fmt.Sscan(line, &child, &governor); err != nil {
		t.Fatalf("the parent said %q", line)
	}
	defer func() { p, _ := os.FindProcess(child); _ = p.Kill() }()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for end := testkit.End(t); ; time.Sleep(10 * time.Millisecond) {
		if stateOf(governor) == "" && stateOf(child) != "T" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after the kill the governor is in state %q and the child in %q", stateOf(governor), stateOf(child))
		}
	}
	time.Sleep(20 * time.Millisecond)
	if s := stateOf(child); s == "T" || s == "" {
		t.Errorf("the child is in state %q", s)
	}
}

// stateOf is the state of a process as proc_pid_stat(5) has it; "" when it is gone or
// only waits to be reaped.
func stateOf(pid int) string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	shut := bytes.LastIndexByte(b, ')')
	if err != nil || shut < 0 {
		return ""
	}
	s := string(bytes.Fields(b[shut+1:])[0])
	return strings.TrimPrefix(s, "Z")
}

// A second of work that is never interrupted is stopped for as long as it asks, whatever
// late wake-ups make of single stops; and a stop that hit nobody is owed on.
func TestLedger(t *testing.T) {
	const ms = time.Millisecond
	var l ledger
	hit, ran := time.Duration(0), time.Duration(0)
	for i := 0; ran < time.Second; i++ {
		free := ms
		if i%10 == 0 {
			free = 12 * ms // it woke up late
		}
		ran += free
		hit += l.ran(free, free, 0.5)
		if l.owed > 0 {
			l.stopped(min(l.owed, longStop) + ms/5)
		}
	}
	if off := hit - ran; off < -20*ms || off > 20*ms {
		t.Errorf("stopped for %s of %s asked", hit, ran)
	}

	l = ledger{}
	l.ran(ms, ms, 0.5)
	l.stopped(ms)
	for range 20 {
		testkit.Is(t, 0, l.ran(0, ms, 0.5), "a stop of nobody counts")
	}
	testkit.Is(t, ms, l.owed, "after a stop that hit nobody", "is owed, want 1ms")
}

// TestGovernorKilled kills the governor: what it had slowed down runs on freely.
func TestGovernorKilled(t *testing.T) {
	pid := start(t)
	e := testkit.Must(Start())(t)
	testkit.OK(t, e.Set("fixed:10", 0.05))
	time.Sleep(200 * time.Millisecond)
	governor, _ := os.FindProcess(e.s.PID())
	testkit.OK(t, governor.Kill())
	for end, free := testkit.End(t), 0; free < 20; time.Sleep(5 * time.Millisecond) {
		if free++; stateOf(pid) == "T" {
			free = 0
		}
		if time.Now().After(end) {
			t.Fatalf("after the kill the process is in state %q", stateOf(pid))
		}
	}
	if _, err := e.Totals(); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a governor that was killed: %v", err)
	}
	_ = e.Close()
}

// Another process may have the number of a member that has ended: nobody stops that one.
func TestNumberIsGivenAnew(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	testkit.OK(t, cmd.Start())
	held := testkit.Must(proc.Hold(cmd.Process.Pid))(t)
	f := family{root: os.Getpid()}
	f.look()
	if !slices.Contains(f.pids, cmd.Process.Pid) {
		t.Errorf("child %d is not among %v", cmd.Process.Pid, f.pids)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	const another = 1 // init's number, as if that were given anew
	f = family{root: os.Getpid(), member: map[int]*proc.Held{another: held}}
	f.look()
	if slices.Contains(f.pids, another) || slices.ContainsFunc(f.held, func(h *proc.Held) bool { return h == held }) {
		t.Errorf("process %d is a member: %v", another, f.pids)
	}
}

// A look that was kept from its CPU must not keep the next ones away for ten times as long.
func TestCostOfALook(t *testing.T) {
	const ms = time.Millisecond
	var f family
	for i, c := range []struct{ took, cost time.Duration }{
		{50 * ms, ms}, {50 * ms, 2 * ms}, {3 * ms, 3 * ms}, {time.Second, 6 * ms}, {2 * ms, 2 * ms},
	} {
		if f.spend(c.took); f.cost != c.cost {
			t.Errorf("look %d of %s: cost %s, want %s", i, c.took, f.cost, c.cost)
		}
	}
}
