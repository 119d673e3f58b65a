//go:build system

package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// stopStudy has runs that say when they begin.
const stopStudy = levelFactor + `
[workload]
name = "command"
run = ["sh", "-c", "echo >> begun; sleep 0.3"]
warmup = 0
retries = 2
[[response]]
name = "wall"
from = "wall"
primary = true
`

// Hostlab is stopped in the middle of a run: that run is void and made again.
func TestStoppedRunIsMadeAgain(t *testing.T) {
	for _, lasts := range []time.Duration{600 * time.Millisecond, 3 * time.Second} {
		t.Run(lasts.String(), func(t *testing.T) { stopFor(t, lasts) })
	}
}

func stopFor(t *testing.T, lasts time.Duration) {
	t.Helper()
	dir := t.TempDir()
	b := &bench{t: t, dir: dir, cfg: Config{Dir: filepath.Join(dir, "record")}}
	b.write("level", "original\n")
	b.write("s.toml", head(6, "")+stopStudy)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RUNNER_TEST_CHILD="+dir)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	testkit.OK(t, cmd.Start())
	begun := func() int {
		text, _ := os.ReadFile(filepath.Join(dir, "begun"))
		return strings.Count(string(text), "\n")
	}
	for i := 0; begun() < 3; i++ {
		if time.Sleep(10 * time.Millisecond); i > 2000 {
			t.Fatal("the third run does not begin")
		}
	}
	testkit.OK(t, cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(lasts)
	testkit.OK(t, cmd.Process.Signal(syscall.SIGCONT))
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	b.complete()
	void := 0
	for i, run := range b.record().Runs {
		if run.Status != result.Void {
			continue
		}
		if void++; i != 2 || !strings.Contains(run.Reason, "hostlab did not run for ") ||
			run.Conditions[paused] < 0.5*lasts.Seconds() {
			t.Errorf("run %d is void: %s (%v)", i, run.Reason, run.Conditions)
		}
	}
	testkit.Is(t, 1, void, "void runs, want that which was stopped")
}
