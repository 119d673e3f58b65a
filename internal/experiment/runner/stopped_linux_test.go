//go:build system

package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/result"
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
	dir := t.TempDir()
	b := &bench{t: t, dir: dir, cfg: Config{Dir: filepath.Join(dir, "record")}}
	b.write("level", "original\n")
	b.write("s.toml", head(6, "")+stopStudy)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RUNNER_TEST_CHILD="+dir)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begun := func() int {
		text, _ := os.ReadFile(filepath.Join(dir, "begun"))
		return strings.Count(string(text), "\n")
	}
	for i := 0; begun() < 3; i++ {
		if time.Sleep(10 * time.Millisecond); i > 2000 {
			t.Fatal("the third run does not begin")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	b.complete()
	void := 0
	for i, run := range b.record().Runs {
		if run.Status != result.Void {
			if run.Values["wall"] > 2 {
				t.Errorf("run %d took %v s, and is %s", i, run.Values["wall"], run.Status)
			}
			continue
		}
		if void++; i != 2 || !strings.Contains(run.Reason, "hostlab was stopped for ") || run.Conditions[paused] < 2 {
			t.Errorf("run %d is void: %s (%v)", i, run.Reason, run.Conditions)
		}
	}
	if void != 1 {
		t.Errorf("%d void runs, want that which was stopped", void)
	}
}

func TestGap(t *testing.T) {
	at := func(monotonic, boot, cpu, waited float64) moment {
		d := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
		return moment{d(monotonic), d(boot), d(cpu), d(waited)}
	}
	for name, c := range map[string]struct {
		later moment
		want  string
	}{
		"on time":                       {at(0.25, 0.25, 0.2, 0), ""},
		"a little late":                 {at(0.9, 0.9, 0, 0), ""},
		"stopped":                       {at(5.25, 5.25, 0.01, 0.001), "hostlab was stopped for 5s"},
		"others had the CPUs":           {at(5.25, 5.25, 0.01, 4.9), ""},
		"its own threads had the CPUs":  {at(5.25, 5.25, 9, 0.1), ""},
		"the machine was suspended":     {at(0.25, 3600.25, 0, 0), "the machine was suspended for 1h0m0s"},
		"clocks read one after another": {at(0.25, 0.2501, 0, 0), ""},
	} {
		got := gap(moment{}, c.later, stopTick).text()
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A host that is only busy stops nobody.
func TestBusyIsNotStopped(t *testing.T) {
	w := watchStops()
	defer w.close()
	before := w.sum()
	var busy []*exec.Cmd
	for range 8 {
		c := exec.Command("sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		busy = append(busy, c)
	}
	time.Sleep(1500 * time.Millisecond)
	for _, c := range busy {
		c.Process.Kill() //nolint:errcheck // it ends with us at the latest
		c.Wait()         //nolint:errcheck // it was killed
	}
	if p := w.sum().sub(before); p.text() != "" {
		t.Error(fmt.Sprint(p))
	}
}
