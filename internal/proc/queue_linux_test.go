package proc

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// A priority counts among threads of one group; one that runs at the lowest already is told.
func TestShares(t *testing.T) {
	if s := Shares(os.Getpid(), os.Getpid()); s.By != ByThread {
		t.Errorf("itself: %+v", s)
	}
	if s := Shares(os.Getpid(), 1<<30); s.By != "" {
		t.Errorf("a process that is not there: %+v", s)
	}
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	testkit.OK(t, cmd.Start())
	if err := unix.SchedSetAttr(cmd.Process.Pid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0); err != nil {
		t.Fatal(err)
	}
	if s := Shares(cmd.Process.Pid, os.Getpid()); s.By != ByThread || !s.Idle {
		t.Errorf("a child at the lowest priority: %+v", s)
	}
}
