//go:build system

package scanlock

import (
	"bufio"
	"context"
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

	"hostlab/internal/testkit"
)

func begin(t *testing.T, ctx context.Context) *Session {
	t.Helper()
	on := twoCPUs(t)
	s := testkit.Must(Start(ctx, Cell{Threads: []Thread{{on[0], Scan}, {on[1], Lock}}}))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

// A session's counters rise while it runs, also where the user's environment asks for
// one processor, and Close leaves no process.
func TestSession(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1")
	t.Setenv("GOGC", "1")
	s := begin(t, t.Context())
	var last Snapshot
	deadline := testkit.End(t)
	for rises := 0; rises < 3; time.Sleep(10 * time.Millisecond) {
		now := testkit.Must(s.Snapshot())(t)
		if last.Counts != nil && now.At > last.At && now.Counts[0].Rounds > last.Counts[0].Rounds &&
			now.Counts[1].Acquisitions > last.Counts[1].Acquisitions {
			rises++
		}
		last = now
		if time.Now().After(deadline) {
			t.Fatalf("nothing rises: %+v", now)
		}
	}
	if !last.Counts[0].HasCPU || last.Counts[0].CPUTime <= 0 {
		t.Errorf("no CPU time: %+v", last.Counts[0])
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	gone(t, s.worker.PID())
	testkit.Refused(s.Snapshot())(t, "", "a closed session gives a snapshot")
}

// The death of the worker is told in a line.
func TestWorkerDies(t *testing.T) {
	for sig, text := range map[syscall.Signal]string{syscall.SIGKILL: "signal: killed", syscall.SIGSEGV: "SIGSEGV"} {
		s := begin(t, t.Context())
		testkit.OK(t, syscall.Kill(s.worker.PID(), sig))
		gone(t, s.worker.PID())
		if _, err := s.Snapshot(); err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, want %q", sig, err, text)
		}
	}
}

// A worker that does not answer for as long as the product waits is killed, and the line says so.
func TestWorkerHangs(t *testing.T) {
	s := begin(t, t.Context())
	testkit.OK(t, syscall.Kill(s.worker.PID(), syscall.SIGSTOP))
	stands(t, s.worker.PID()) // kill(2) returns before the threads stop, and one of them may answer meanwhile
	s.wait = time.Second
	if _, err := s.Snapshot(); err == nil || !strings.Contains(err.Error(), "did not answer") {
		t.Fatal(err)
	}
	gone(t, s.worker.PID())
}

// stands waits until all threads of a process are stopped.
func stands(t *testing.T, pid int) {
	t.Helper()
	for deadline := testkit.End(t); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		stats, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
		if err != nil || len(stats) == 0 {
			t.Fatalf("worker %d: %d threads, %v", pid, len(stats), err)
		}
		if !slices.ContainsFunc(stats, func(name string) bool {
			b, err := os.ReadFile(name)
			_, rest, _ := strings.Cut(string(b), ") ")
			return err == nil && !strings.HasPrefix(rest, "T")
		}) {
			return
		}
	}
	t.Fatalf("worker %d does not stop", pid)
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := begin(t, ctx)
	cancel()
	if _, err := s.Snapshot(); !errors.Is(err, context.Canceled) {
		t.Errorf("Snapshot: %v", err)
	}
	gone(t, s.worker.PID())
	if _, err := Start(ctx, Cell{Threads: []Thread{{0, Lock}}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start: %v", err)
	}
}

// Ctrl-C, which the terminal sends to the whole group, ends parent and worker, and so
// does the parent's sudden death.
func TestParentEnds(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), driver+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out := testkit.Must(cmd.StdoutPipe())(t)
		testkit.OK(t, cmd.Start())
		line := testkit.Must(bufio.NewReader(out).ReadString('\n'))(t)
		pid := testkit.Must(strconv.Atoi(strings.TrimSpace(line)))(t)
		to := -cmd.Process.Pid
		if sig == syscall.SIGKILL {
			to = cmd.Process.Pid // only the parent
		}
		testkit.OK(t, syscall.Kill(to, sig))
		_ = cmd.Wait() // of SIGKILL an error, as asked
		gone(t, pid)
	}
}

// gone fails unless the process ends soon. A zombie, which an init that does not reap
// may leave of an orphan, has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := testkit.End(t); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if _, rest, _ := strings.Cut(string(b), ") "); err != nil || strings.HasPrefix(rest, "Z") ||
			strings.HasPrefix(rest, "X") {
			return
		}
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("worker %d still runs", pid)
		}
	}
}
