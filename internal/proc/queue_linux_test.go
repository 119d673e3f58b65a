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
	testkit.Is(t, ByThread, Shares(os.Getpid(), os.Getpid()).By, "itself")
	testkit.Is(t, "", Shares(os.Getpid(), 1<<30).By, "a process that is not there")
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	testkit.OK(t, cmd.Start())
	testkit.OK(t, unix.SchedSetAttr(cmd.Process.Pid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0))
	if s := Shares(cmd.Process.Pid, os.Getpid()); s.By != ByThread || !s.Idle {
		t.Errorf("a child at the lowest priority: %+v", s)
	}
}
