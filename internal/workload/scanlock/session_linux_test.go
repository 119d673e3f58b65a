//go:build system

package scanlock

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/systemtest"
)

func begin(t *testing.T, ctx context.Context) *Session {
	t.Helper()
	on := twoCPUs(t)
	s, err := Start(ctx, Cell{Threads: []Thread{{on[0], Scan}, {on[1], Lock}}})
	if err != nil {
		t.Fatal(err)
	}
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
	deadline := systemtest.End(t)
	for rises := 0; rises < 3; time.Sleep(10 * time.Millisecond) {
		now, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if last.Counts != nil && now.At > last.At && now.Counts[0].Rounds > last.Counts[0].Rounds && now.Counts[1].Acquisitions > last.Counts[1].Acquisitions {
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
	if err := s.Check(); err != nil {
		t.Errorf("Check of a running session: %v", err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	gone(t, s.worker.PID())
	if _, err := s.Snapshot(); !errors.Is(err, errClosed) {
		t.Errorf("Snapshot after Close: %v", err)
	}
}

func TestPromise(t *testing.T) {
	if beat+patience > 1500*time.Millisecond {
		t.Errorf("a loss takes up to %v to be noticed: too near to the two seconds that are promised", beat+patience)
	}
}

// stopped waits until all threads of a process have stopped, which SIGSTOP does not.
func stopped(t *testing.T, pid int) {
	t.Helper()
	for deadline := systemtest.End(t); ; time.Sleep(time.Millisecond) {
		running := 0
		tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
		for _, task := range tasks {
			b, err := os.ReadFile(task)
			if _, rest, _ := strings.Cut(string(b), ") "); err == nil && !strings.HasPrefix(rest, "T") {
				running++
			}
		}
		if running == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d threads do not stop", running)
		}
	}
}

// Death and silence of the worker are noticed soon, without anybody
// asking for a snapshot, and told in a line.
func TestWorkerIsLost(t *testing.T) {
	for sig, text := range map[syscall.Signal]string{
		syscall.SIGKILL: "signal: killed", syscall.SIGSTOP: "did not answer", syscall.SIGSEGV: "SIGSEGV",
	} {
		t.Run(sig.String(), func(t *testing.T) {
			s := begin(t, t.Context())
			if err := syscall.Kill(s.worker.PID(), sig); err != nil {
				t.Fatal(err)
			}
			var err error
			for end := systemtest.End(t); err == nil && time.Now().Before(end); err = s.Check() {
				time.Sleep(5 * time.Millisecond)
			}
			if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, text)
			}
			gone(t, s.worker.PID())
			if _, again := s.Snapshot(); again == nil || again.Error() != err.Error() {
				t.Errorf("Snapshot then gives %v", again)
			}
		})
	}
}

// A snapshot of a stopped worker comes back in time, too.
func TestSnapshotOfStopped(t *testing.T) {
	s := begin(t, t.Context())
	if err := syscall.Kill(s.worker.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped(t, s.worker.PID())
	_, err := s.Snapshot()
	if err == nil || !strings.Contains(err.Error(), "did not answer") {
		t.Error(err)
	}
	gone(t, s.worker.PID())
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := begin(t, ctx)
	cancel()
	if _, err := s.Snapshot(); !errors.Is(err, context.Canceled) {
		t.Errorf("Snapshot: %v", err)
	}
	if err := s.Check(); !errors.Is(err, context.Canceled) {
		t.Errorf("Check: %v", err)
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
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		to := -cmd.Process.Pid
		if sig == syscall.SIGKILL {
			to = cmd.Process.Pid // only the parent
		}
		if err := syscall.Kill(to, sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // of SIGKILL an error, as asked
		gone(t, pid)
	}
}

// gone fails unless the process ends soon. A zombie, which an init that does not reap
// may leave of an orphan, has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := systemtest.End(t); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if _, rest, _ := strings.Cut(string(b), ") "); err != nil || strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X") {
			return
		}
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("worker %d still runs", pid)
		}
	}
}
