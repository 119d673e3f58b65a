//go:build system

package emulate

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"hostlab/internal/proc"
)

// A process that has the number of a member which has ended is none of ours to stop.
func TestNumberIsGivenAnew(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	held, err := proc.Hold(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
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
