package proc

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

func start(t *testing.T, attr *syscall.SysProcAttr, args ...string) (*exec.Cmd, *Held) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.SysProcAttr = "/", attr
	testkit.OK(t, cmd.Start())
	h := testkit.Must(Hold(cmd.Process.Pid))(t)
	t.Cleanup(func() { h.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, h
}

// What was held and has ended gets no signal, and nobody in its place.
func TestHeld(t *testing.T) {
	cmd, h := start(t, nil, "sleep", "300")
	root := testkit.Must(os.Stat("/"))(t)
	other := testkit.Must(os.Stat(t.TempDir()))(t)
	if !h.Inside(root) || h.Inside(other) || !h.RunsAs(54321, os.Getuid()) || h.RunsAs(54321) || !h.OneUser() || h.Gone() || h.Parent != os.Getpid() {
		t.Errorf("%+v", h.Stat)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := h.Signal(syscall.SIGKILL); err != nil || !h.Gone() || h.RunsAs(os.Getuid()) {
		t.Errorf("after its end: %v", err)
	}
	testkit.Refused(Hold(cmd.Process.Pid))(t, "", "held after its end")
}

// Processes that are deaf or stopped end at the last step.
func TestEnd(t *testing.T) {
	var roots []int
	for _, args := range [][]string{{"sleep", "300"}, {"sh", "-c", "trap '' TERM; while :; do sleep 1; done"}} {
		cmd, h := start(t, nil, args...)
		if err := h.Signal(syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
		roots = append(roots, cmd.Process.Pid)
	}
	find := func() []*Held { return Find(Below(All(), roots...), func(*Held) bool { return true }) }
	if left := End(find, Step{syscall.SIGTERM, 50 * time.Millisecond}, Step{syscall.SIGKILL, 10 * time.Second}); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
}

// A group is signalled as long as its leader is not reaped, and never later.
func TestLeader(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 300 & exec sleep 300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	testkit.OK(t, cmd.Start())
	l := Lead(cmd)
	l.Signal(syscall.SIGKILL)
	called := false
	if err := l.Wait(func() { called = true; l.Signal(syscall.SIGKILL) }); err == nil || !called {
		t.Errorf("ended with %v, called %v", err, called)
	}
	l.cmd.Process.Pid = os.Getpid() // as if the number were given anew: to us
	l.Signal(syscall.SIGKILL)
}

func TestBelow(t *testing.T) {
	all := []Stat{{PID: 5, Parent: 4}, {PID: 4, Parent: 3}, {PID: 3, Parent: 1}, {PID: 6, Parent: 1}, {PID: 1}}
	var got []int
	for _, s := range Below(all, 3) {
		got = append(got, s.PID)
	}
	testkit.Same(t, []int{5, 4, 3}, got)
}
