package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// leftoverStudy has a workload that starts a process and waits for it, and one that
// is a daemon. With the file "quick" it only works.
const leftoverStudy = levelFactor + `
[workload]
name = "command"
run = ["sh", "-c", "test -e quick && exit; setsid sleep 300 & echo $! > daemon; sleep 300 & echo $! > child.new; mv child.new child; wait"]
warmup = 0
[[response]]
name = "wall"
from = "wall"
primary = true
`

// What the workload of a killed session has left is ended before a resume measures
// anything. A daemon, and a process that only looks alike, stay.
func TestLeftovers(t *testing.T) {
	t.Run("resume", func(t *testing.T) { testLeftovers(t, false) })
	t.Run("restore", func(t *testing.T) { testLeftovers(t, true) })
}

func testLeftovers(t *testing.T, restore bool) {
	dir := t.TempDir()
	b := &bench{t: t, dir: dir, cfg: Config{Dir: filepath.Join(dir, "record")}}
	b.write("level", "original\n")
	b.write("s.toml", head(6, "")+leftoverStudy)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RUNNER_TEST_CHILD="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "child")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the workload has not started")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	child, daemon := b.pid("child"), b.pid("daemon")
	t.Cleanup(func() { _ = unix.Kill(child, unix.SIGKILL); _ = unix.Kill(daemon, unix.SIGKILL) })
	if !runs(child) || !runs(daemon) {
		t.Fatal("nothing was left: the test tests nothing")
	}
	if restore {
		names, err := EndLeftovers(b.cfg.Dir)
		if err != nil || !slices.Contains(names, "sleep "+strconv.Itoa(child)) || runs(child) || !runs(daemon) {
			t.Errorf("ended %q, error %v; the child runs: %v, the daemon: %v", names, err, runs(child), runs(daemon))
		}
		return
	}
	b.write("quick", "")
	b.load(head(6, "") + leftoverStudy)
	b.cfg.Version = "test"
	b.cfg.Watch = func(p Progress) {
		if p.Note != "" {
			b.notes = append(b.notes, p.Note)
		}
		if p.Last != nil && runs(child) {
			t.Error("a run beside what was left")
		}
	}
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	b.complete()
	if runs(child) || !runs(daemon) {
		t.Errorf("the child runs: %v, the daemon: %v", runs(child), runs(daemon))
	}
	if text := strings.Join(b.notes, "\n"); !strings.Contains(text, "sleep "+strconv.Itoa(child)+" running, which was ended") {
		t.Errorf("notes %q", text)
	}
}

func (b *bench) pid(name string) int {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		b.t.Fatal(err)
	}
	return pid
}

// runs reports a process that is there and no zombie.
func runs(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
