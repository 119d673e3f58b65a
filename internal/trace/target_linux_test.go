package trace

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// A process that has ended and waits to be reaped would else be part of a service for ever.
func TestExists(t *testing.T) {
	if !exists(os.Getpid()) {
		t.Error("this process is said to have ended")
	}
	cmd := exec.Command("sleep", "60")
	testkit.OK(t, cmd.Start())
	pid := cmd.Process.Pid
	if !exists(pid) {
		t.Error("one that runs is said to have ended")
	}
	testkit.OK(t, cmd.Process.Kill())
	for end := testkit.End(t); exists(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("one that waits to be reaped is said to live")
		}
	}
	_ = cmd.Wait() // killed
	if exists(pid) {
		t.Error("one that was reaped is said to live")
	}
}
