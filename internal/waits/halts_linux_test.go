package waits

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// TestHalts: what a process waits for in the kernel is said, with who reads the pipe that it writes to.
func TestHalts(t *testing.T) {
	r, w, err := os.Pipe()
	testkit.OK(t, err)
	defer r.Close()
	defer w.Close()
	for name, cmd := range map[string]*exec.Cmd{
		"a sleep": exec.Command("sleep", "1000"),
		fmt.Sprintf("a write to a pipe of waits.test (PID %d)", os.Getpid()): exec.Command("yes"),
		"a program that it started: sleep":                                   exec.Command("sh", "-c", "sleep 1000; true"),
	} {
		cmd.Stdout, cmd.SysProcAttr = w, &unix.SysProcAttr{Setpgid: true}
		testkit.OK(t, cmd.Start())
		got := ""
		for end := time.Now().Add(10 * time.Second); got != name && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", cmd.Process.Pid))
			if _, number, args := called(line); len(args) > 0 {
				first, _ := strconv.ParseUint(string(args[0]), 0, 64)
				got = Ends{}.Halts(cmd.Process.Pid, Call{number, first})
			}
		}
		testkit.Is(t, name, got)
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // with what it has started
		_ = cmd.Wait()
	}
}

// TestRuns: the kernel tells who is on a CPU or ready for one, and in which call another one waits.
func TestRuns(t *testing.T) {
	b := &board{}
	for i, c := range []struct {
		line string
		runs bool
		kind Kind
	}{{"while :; do :; done", true, ""}, {"exec sleep 1000", false, Sleep}} {
		cmd := exec.Command("sh", "-c", c.line)
		testkit.OK(t, cmd.Start())
		b.call[i] = int32(cmd.Process.Pid)
		right := func() bool {
			runs := runs(b, int32(i))
			return runs == c.runs && (runs || Of(b.in[i].call.Number) == c.kind)
		}
		for end := time.Now().Add(10 * time.Second); !right() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
		testkit.Is(t, true, right(), c.line)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	testkit.Is(t, false, runs(b, 0), "one that has ended runs")
}
