//go:build system

package emulate

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

// A process that has the number of a member which has ended is none of ours to stop.
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
