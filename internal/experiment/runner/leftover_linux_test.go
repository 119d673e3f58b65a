//go:build system

package runner

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// leftoverStudy has a workload that starts a process and waits for it, and one that
// is a daemon, in a session of its own. With the file "quick" it only works.
const leftoverStudy = levelFactor + `
[workload]
name = "command"
run = ["sh", "-c", "test -e quick && exit; setsid sleep 300 & d=$!; echo $d > daemon; sleep 300 & echo $! > child.new; until grep -q sleep /proc/$d/comm && grep -q sleep /proc/$!/comm; do :; done; mv child.new child; wait"]
warmup = 0
[[response]]
name = "wall"
from = "wall"
primary = true
`

// What the workload of a killed session has left is ended before a resume measures
// anything, daemons too.
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
	testkit.OK(t, cmd.Start())
	for end := testkit.End(t); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "child")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the workload has not started")
		}
	}
	testkit.OK(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	child, daemon := b.pid("child"), b.pid("daemon")
	t.Cleanup(func() { _ = unix.Kill(child, unix.SIGKILL); _ = unix.Kill(daemon, unix.SIGKILL) })
	if !runs(child) || !runs(daemon) {
		t.Fatal("nothing was left: the test tests nothing")
	}
	if restore {
		names, err := EndLeftovers(b.cfg.Dir)
		if err != nil || !slices.Contains(names, "sleep "+strconv.Itoa(child)) ||
			!slices.Contains(names, "sleep "+strconv.Itoa(daemon)) || runs(child) || runs(daemon) {
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
		if p.Last != nil && (runs(child) || runs(daemon)) {
			t.Error("a run beside what was left")
		}
	}
	testkit.OK(t, b.run())
	b.complete()
	if runs(child) || runs(daemon) {
		t.Errorf("the child runs: %v, the daemon: %v", runs(child), runs(daemon))
	}
	if text := strings.Join(b.notes, "\n"); !strings.Contains(text, "sleep "+strconv.Itoa(child)) ||
		!strings.Contains(text, "running, which was ended") {
		t.Errorf("notes %q", text)
	}
}

// A run whose program leaves a daemon counts, but marked, and the daemon is ended.
func TestRunLeavesDaemon(t *testing.T) {
	b := newBench(t, head(6, "")+strings.Replace(leftoverStudy,
		"test -e quick && exit; setsid sleep 300 & d=$!; echo $d > daemon; sleep 300 & echo $! > child.new; until grep -q sleep /proc/$d/comm && grep -q sleep /proc/$!/comm; do :; done; mv child.new child; wait", "setsid sleep 300 & echo $! > daemon; until grep -q sleep /proc/$!/comm; do :; done", 1))
	testkit.OK(t, b.run())
	const why = "left a process running (sleep, in a session of its own), which was ended"
	b.complete()
	for _, r := range b.record().Runs {
		if !strings.Contains(r.Contaminated, why) || len(r.Warnings) != 1 {
			t.Errorf("contaminated %q, warnings %q", r.Contaminated, r.Warnings)
		}
	}
	if daemon := b.pid("daemon"); runs(daemon) {
		t.Errorf("daemon %d runs", daemon)
	}
}

// What a factor's commands start may be a server that the runs need: it lives, and is told
// of in the end.
func TestLevelsStartServer(t *testing.T) {
	b := newBench(t, head(6, "")+strings.Replace(levelFactor, `echo {level} > level"]`,
		`echo {level} > level; test -e server || { setsid sleep 300 >/dev/null 2>&1 & echo $! > server; }"]`, 1)+nullWorkload)
	defer func() { _ = unix.Kill(b.pid("server"), unix.SIGKILL) }()
	testkit.OK(t, b.run())
	server := b.pid("server")
	if !runs(server) {
		t.Error("the server was ended")
	}
	testkit.Has(t, strings.Join(b.notes, "\n"), "have left sleep "+strconv.Itoa(server)+" running", "notes")
}

// The mark in a program with the set-user-ID bit was put there by who started it, whose
// process it is not.
func TestPlantedMark(t *testing.T) {
	testkit.Root(t)
	const eve = 54321
	dir := t.TempDir()
	program := filepath.Join(dir, "sleep")
	real := testkit.Must(exec.LookPath("sleep"))(t)
	text := testkit.Must(os.ReadFile(real))(t)
	testkit.OK(t, errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.WriteFile(program, text, 0o755), os.Chmod(program, os.ModeSetuid|0o755))) //nolint:gosec // she has to get there
	work := filepath.Join(dir, "work")
	cmd := exec.Command("setsid", "-f", program, "300")
	cmd.Env = append(os.Environ(), workload.Mark(work))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: eve, Gid: eve}}
	testkit.OK(t, cmd.Run())
	var planted *proc.Held
	for end := testkit.End(t); planted == nil; time.Sleep(time.Millisecond) {
		for _, h := range proc.Find(proc.All(), func(h *proc.Held) bool {
			return h.Name == "sleep" && slices.Contains(h.Environ(), workload.Mark(work))
		}) {
			planted = h
		}
		if time.Now().After(end) {
			t.Fatal("it has not started")
		}
	}
	defer planted.Close()
	defer func() { _ = planted.Signal(unix.SIGKILL) }()
	if planted.RunsAs(0) || planted.OneUser() {
		t.Fatal("it runs as one user: the test tests nothing")
	}
	if names, err := endLeftovers(work); err != nil || len(names) > 0 || !runs(planted.PID) {
		t.Errorf("ended %q, %v", names, err)
	}
}

func (b *bench) pid(name string) int {
	b.t.Helper()
	text := testkit.Must(os.ReadFile(filepath.Join(b.dir, name)))(b.t)
	pid := testkit.Must(strconv.Atoi(strings.TrimSpace(string(text))))(b.t)
	return pid
}

// runs reports a process that is there and no zombie.
func runs(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
