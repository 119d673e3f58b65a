//go:build linux && system

package trace

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// TestCalls: samples show for what the kernel works.
func TestCalls(t *testing.T) {
	shell := exec.Command("sh", "-c", "while :; do /bin/true; done")
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shell.Process.Kill(); _ = shell.Wait() })
	list := testkit.Must(Calls(t.Context(), 3*time.Second))(t)
	seen := map[Work]int{}
	for d, n := range list {
		if d.PID == shell.Process.Pid || d.Parent == shell.Process.Pid {
			seen[d.Work] += n
		}
	}
	if kernel := seen[Processes] + seen[Faults]; kernel < seen[OwnCode] {
		t.Errorf("it only starts programs: %v, %d of %d", seen, os.Getpid(), len(list))
	}
}
