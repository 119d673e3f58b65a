//go:build system

package runner

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/result/store"
	"hostlab/internal/testkit"
)

// inside lists the processes that work below a directory.
func inside(dir string) (pids []int) {
	list, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range list {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, dir+"/") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// postmaster is the one that this process has started.
func postmaster(dir string) int {
	for _, pid := range inside(dir) {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		_, rest, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(rest); err == nil && len(f) > 1 && f[1] == strconv.Itoa(os.Getpid()) {
			return pid
		}
	}
	return 0
}

// killBusy kills a server as soon as its processes have computed for a tenth of what a run takes.
func killBusy(postmaster int) {
	used := func() (sum time.Duration) {
		for _, pid := range proc.Family(postmaster) {
			t, _ := proc.CPUTime(pid) // one that has ended had its time
			sum += t
		}
		return sum
	}
	for before := used(); used() < before+50*time.Millisecond; {
		time.Sleep(time.Millisecond)
	}
	_ = syscall.Kill(postmaster, syscall.SIGKILL)
}

// A database that is killed in the middle of an experiment fails one run, in one line.
// The next has a new one, and nothing is left of either.
func TestPostmasterKilled(t *testing.T) {
	b := newBench(t, head(6, "")+`
[[factor]]
name = "degree"
parameter = "degree"
levels = [1, 2]
[workload]
name = "xmlquery"
engine = "postgres"
size = "1MiB"
passes = 8
[[response]]
name = "wall"
`)
	killed, started := 0, 0
	watch := b.cfg.Watch
	b.cfg.Watch = func(p Progress) {
		watch(p)
		if p.Stage != "running" || p.Cell == nil {
			return
		}
		if started++; started == 3 {
			if killed = postmaster(b.cfg.Dir); killed == 0 {
				t.Error("no postmaster was found")
				return
			}
			go killBusy(killed)
		}
	}
	testkit.OK(t, b.run())
	b.complete()
	if failed := b.failed(); len(failed) != 1 || !strings.HasPrefix(failed[0], "PostgreSQL was ended by signal 9") ||
		strings.Contains(failed[0], "\n") {
		t.Errorf("failed runs: %q", failed)
	}
	testkit.Refused(os.Stat(filepath.Join(b.cfg.Dir, store.WorkDir)))(t, "", "the workload's directory is left")
	if left := inside(b.cfg.Dir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}
