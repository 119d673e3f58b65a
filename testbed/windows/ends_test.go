//go:build linux && amd64 && system

package windows

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// ends ends scanlock by Ctrl-C, which Wine makes of SIGINT, ends its worker, and kills it. Sums are printed, a worker that is
// gone is said, and none outlives its parent.
func (w *wine) ends(t *testing.T) {
	program, worker := regexp.MustCompile(`hostlab\.exe workload scanlock`), regexp.MustCompile(`^hostlab-worker`)
	for _, c := range []struct {
		name    string
		whom    *regexp.Regexp
		signal  syscall.Signal
		status  int // -1: any
		pattern string
	}{
		{"Ctrl-C", program, syscall.SIGINT, 0, "Whole run"},
		{"worker killed", worker, syscall.SIGKILL, 1, "worker"},
		{"killed", program, syscall.SIGKILL, -1, ""},
	} {
		out := testkit.Must(os.Create(filepath.Join(w.dir, "ends")))(t)
		cmd := exec.Command(wine64, "./hostlab.exe", "workload", "scanlock", "--interval", "1s")
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, w.environ, out, out
		testkit.OK(t, errors.Join(cmd.Start(), out.Close()))
		w.within(t, c.name+": no table", func() bool { // until it has something to sum up
			text, _ := os.ReadFile(out.Name())
			return strings.Contains(string(text), "Thread Id")
		})
		for _, pid := range w.ours(c.whom) {
			if err := syscall.Kill(pid, c.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Fatal(err)
			}
		}
		_ = cmd.Wait()
		text, err := os.ReadFile(out.Name())
		if status := cmd.ProcessState.ExitCode(); err != nil || c.status >= 0 && status != c.status || !strings.Contains(string(text), c.pattern) {
			t.Errorf("%s: exit status %d, %v:\n%s", c.name, status, err, text)
		}
		w.within(t, c.name+": a worker outlives its parent", func() bool { return len(w.ours(worker)) == 0 })
	}
}

func (w *wine) within(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := testkit.End(t); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// ours lists the processes of this prefix whose command line a pattern matches.
func (w *wine) ours(pattern *regexp.Regexp) (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	for _, dir := range dirs {
		line, _ := os.ReadFile(dir + "/cmdline") // one that is gone has none
		environ, _ := os.ReadFile(dir + "/environ")
		mine := slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(v []byte) bool { return string(v) == "WINEPREFIX="+filepath.Join(w.dir, "prefix") })
		if exe, _ := os.Readlink(dir + "/exe"); !mine || !strings.Contains(exe, "wine") || !pattern.Match(bytes.ReplaceAll(line, []byte{0}, []byte(" "))) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
