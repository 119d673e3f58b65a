package pods

import (
	"os/exec"
	"strings"
	"testing"
)

// TestHostname: a process tells its name, and one with an environment longer than is read tells none.
func TestHostname(t *testing.T) {
	long := "A=" + strings.Repeat("x", 100<<10)
	for want, env := range map[string][]string{"db-0": {"HOSTNAME=db-0"}, "": {"HOSTNAME=db-0", long, "B" + long}} {
		cmd := exec.Command("sleep", "300")
		cmd.Env = env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if got := hostname(cmd.Process.Pid); got != want {
			t.Errorf("%d variables: %q, want %q", len(env), got, want)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if got := hostname(0); got != "" {
		t.Errorf("of no process: %q", got)
	}
}
