//go:build system

package privatedb

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"

	"golang.org/x/sys/unix"
)

// roleEnv makes this binary a server, or a session of one.
const roleEnv = "HOSTLAB_TEST_ROLE"

// serve does what it is told by lines: "start NAME", "end NAME", "once", and answers with
// the number of a process, and the CPU time of those that have ended, in ns.
func serve() {
	type child struct {
		cmd  *exec.Cmd
		hold io.Closer
	}
	sessions := map[string]child{}
	start := func() child {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{roleEnv + "=session", "GOMAXPROCS=1", "GOGC=off"}
		hold, err := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err != nil || err2 != nil || cmd.Start() != nil {
			os.Exit(1)
		}
		_, _ = bufio.NewReader(out).ReadString('\n')
		return child{cmd, hold}
	}
	end := func(c child) {
		_ = c.hold.Close()
		_, _ = c.cmd.Process.Wait()
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		what, name, _ := strings.Cut(lines.Text(), " ")
		pid := 0
		switch what {
		case "start":
			sessions[name] = start()
			pid = sessions[name].cmd.Process.Pid
		case "end":
			end(sessions[name])
		case "once":
			end(start())
		}
		var u unix.Rusage
		_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &u)
		fmt.Println(pid, u.Utime.Nano()+u.Stime.Nano())
	}
}

// session works for up to 12 ms, says so, and ends with its input.
func session() {
	spin(time.Duration(rand.IntN(12_000)) * time.Microsecond)
	fmt.Println()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// fixture is a server for a test.
type fixture struct {
	t   *testing.T
	pid int
	in  io.Writer
	out *bufio.Reader
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{roleEnv + "=server"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in := testkit.Must(cmd.StdinPipe())(t)
	out := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{t, cmd.Process.Pid, in, bufio.NewReader(out)}
}

func (f *fixture) do(what string) (pid int, ended time.Duration) {
	f.t.Helper()
	testkit.Must(fmt.Fprintln(f.in, what))(f.t)
	testkit.Must(fmt.Fscanln(f.out, &pid, &ended))(f.t)
	return pid, ended
}

// truth is what all have used, where so many sessions live.
func (f *fixture) truth(sessions map[string]int) time.Duration {
	f.t.Helper()
	_, all := f.do("tell")
	for _, pid := range slices.AppendSeq([]int{f.pid}, maps.Values(sessions)) {
		cpu := testkit.Must(proc.CPUTime(pid))(f.t)
		all += cpu
	}
	return all
}

// Processes end within every window, those seen before and those never seen: what was
// used is never negative and wrong by less than Coarse, also over all windows together.
// Where none ends it is exact. slack is for what the server itself does between a reading
// and its truth, and for a tick of the kernel.
func TestMeterWhileProcessesEnd(t *testing.T) {
	const slack = 20 * time.Millisecond
	f := newFixture(t)
	m := Meter{Server: f.pid}
	sessions := map[string]int{}
	read := func() (Usage, time.Duration) {
		t.Helper()
		u := testkit.Must(m.Read())(t)
		return u, f.truth(sessions)
	}
	first, firstTruth := read()
	var worst time.Duration
	check := func(name string, u, before Usage, truth, bound time.Duration) {
		t.Helper()
		cpu, doubt := u.Since(before)
		off := (cpu - truth).Abs()
		worst = max(worst, off)
		if cpu < 0 || off >= bound+slack {
			t.Errorf("%s: %v, truly %v", name, cpu, truth)
		}
		if u.Ended != before.Ended && cpu < 10*Coarse && doubt == "" {
			t.Errorf("%s: %v is told without a doubt, although processes ended", name, cpu)
		}
	}
	for i := range 200 {
		for _, name := range []string{"a", "b"}[:1+i%2] {
			sessions[name], _ = f.do("start " + name)
		}
		before, beforeTruth := read()
		if i%3 == 0 {
			f.do("once")
		}
		for name := range sessions {
			f.do("end " + name)
		}
		clear(sessions)
		after, afterTruth := read()
		check(fmt.Sprintf("window %d", i), after, before, afterTruth-beforeTruth, Coarse)
		if after.Ended == before.Ended {
			t.Errorf("window %d: nothing tells that processes ended", i)
		}
	}
	last, lastTruth := read()
	check("all windows", last, first, lastTruth-firstTruth, Coarse)
	t.Logf("largest error with processes that end: %v", worst)

	worst = 0
	for i := range 20 {
		before, beforeTruth := read()
		name := fmt.Sprint(i)
		sessions[name], _ = f.do("start " + name)
		after, afterTruth := read()
		testkit.Is(t, before.Ended, after.Ended, "somebody ended")
		check("nobody ends", after, before, afterTruth-beforeTruth, 0)
	}
	t.Logf("largest error without: %v", worst)
}
