//go:build system

package emulate

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

// service is a group with a quota of its own, as a systemd unit with CPUQuota has, and a shell in it that starts a
// process every few milliseconds. testbed runs these tests on control groups of version 2, too.
type service struct {
	groups
	home string
	cmd  *exec.Cmd
}

func startService(t *testing.T) *service {
	t.Helper()
	at := testkit.Must(findGroups())(t)
	s := &service{groups: at, home: filepath.Join(at.dir, fmt.Sprintf("hostlab-test-%d", os.Getpid()))}
	if at.v2 {
		testkit.OK(t, put(filepath.Join(at.dir, "cgroup.subtree_control"), "+cpu"))
	}
	testkit.OK(t, os.Mkdir(s.home, 0o755))
	t.Cleanup(func() {
		for range 200 { // the last of its processes may take a moment to end
			if os.Remove(s.home) == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("%s cannot be removed", s.home)
	})
	for file, value := range s.limits() {
		testkit.OK(t, put(filepath.Join(s.home, file), value))
	}
	s.cmd = exec.Command("sh", "-c", `echo $$ >"$1/cgroup.procs"; echo in; while :; do sleep 0.005; done`, "sh", s.home)
	out := testkit.Must(s.cmd.StdoutPipe())(t)
	testkit.OK(t, s.cmd.Start())
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "in\n" {
		t.Fatalf("the shell says %q: %v", line, err)
	}
	return s
}

// limits are half a CPU.
func (s *service) limits() map[string]string {
	if s.v2 {
		return map[string]string{"cpu.max": "50000 100000"}
	}
	return map[string]string{"cpu.cfs_quota_us": "50000"}
}

// slowed waits until the service is in a group of a governor.
func (s *service) slowed(t *testing.T) {
	t.Helper()
	for {
		if in, err := s.of(s.cmd.Process.Pid); err != nil {
			t.Fatal(err)
		} else if in != s.home {
			if filepath.Dir(in) != s.home {
				t.Fatalf("the service is in %s, which is not below its own group", in)
			}
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// atHome requires that the service and all that it starts are where they were, with the limits that it had.
func (s *service) atHome(t *testing.T) {
	t.Helper()
	testkit.Is(t, s.home, testkit.Must(s.of(s.cmd.Process.Pid))(t), "the service is in")
	entries, _ := os.ReadDir(s.home)
	for _, e := range entries {
		if e.IsDir() {
			t.Errorf("%s is left in the service's group", e.Name())
		}
	}
	for file, want := range s.limits() {
		if b, err := os.ReadFile(filepath.Join(s.home, file)); strings.TrimSpace(string(b)) != want {
			t.Errorf("%s is %q: %v", file, b, err)
		}
	}
	if s.v2 {
		for file, want := range map[string]string{"cgroup.type": "domain", "cgroup.subtree_control": ""} {
			if b, err := os.ReadFile(filepath.Join(s.home, file)); strings.TrimSpace(string(b)) != want {
				t.Errorf("%s is %q: %v", file, b, err)
			}
		}
	}
}

// TestHome lets a service go, and kills its governor: both times it comes home.
func TestHome(t *testing.T) {
	for name, end := range map[string]func(*Emulation) error{
		"closed": (*Emulation).Close,
		"governor killed": func(e *Emulation) error {
			governor, _ := os.FindProcess(e.s.PID())
			if err := governor.Kill(); err != nil {
				return err
			}
			<-e.Lost()
			_ = e.Close()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startService(t)
			e, err := StartFor(Group, s.cmd.Process.Pid)
			if err == nil {
				err = e.Set("fixed:20", 0.05)
			}
			testkit.OK(t, err)
			s.slowed(t)
			if err := end(e); err != nil {
				t.Error(err)
			}
			s.atHome(t)
		})
	}
}

// TestHomeAfterAll kills the governor together with the process that has started it: what stays is listed, and brought
// home by the next.
func TestHomeAfterAll(t *testing.T) {
	s := startService(t)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), role+"=parent", "METHOD="+string(Group), "SERVICE="+strconv.Itoa(s.cmd.Process.Pid))
	out := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, _ := bufio.NewReader(out).ReadString('\n')
	var child, governor int
	if _, err := fmt.Sscan(line, &child, &governor); err != nil {
		t.Fatalf("the parent said %q", line)
	}
	s.slowed(t)
	for _, pid := range []int{governor, cmd.Process.Pid, child} { // the parent stands still, so that it sees nothing
		p, _ := os.FindProcess(pid)
		if pid == governor {
			stopProcess(t, cmd.Process.Pid)
		}
		_ = p.Kill()
	}
	_ = cmd.Wait()
	for stateOf(governor) != "" {
		time.Sleep(5 * time.Millisecond)
	}
	left := Leftovers()
	if len(left) != 1 || filepath.Dir(left[0].Group) != s.home || left[0].Processes == 0 || !Ours(left[0]) {
		t.Fatalf("left: %+v", left)
	}
	if brought, err := Sweep(); err != nil || len(brought) != 1 {
		t.Errorf("brought back: %+v, %v", brought, err)
	}
	s.atHome(t)
}

// TestElsewhere refuses a service whose processes are in several groups.
func TestElsewhere(t *testing.T) {
	s := startService(t)
	g := testkit.Must(newGroup(s.cmd.Process.Pid, true))(t)
	elsewhere := filepath.Join(s.dir, fmt.Sprintf("hostlab-test-elsewhere-%d", os.Getpid()))
	other := start(t)
	testkit.OK(t, os.Mkdir(elsewhere, 0o755))
	defer func() {
		_ = put(filepath.Join(s.dir, "cgroup.procs"), strconv.Itoa(other))
		_ = os.Remove(elsewhere)
	}()
	testkit.OK(t, put(filepath.Join(elsewhere, "cgroup.procs"), strconv.Itoa(other)))
	g.join([]int{other})
	testkit.Fails(t, g.set(0.5, load{1, 1}), "method stop", "a process of another group")
	if err := g.release(); err != nil {
		t.Error(err)
	}
	s.atHome(t)
}

// TestAboveItsLimit asks for more than the service's own limit: that stays the one in force.
func TestAboveItsLimit(t *testing.T) {
	s := startService(t)
	g := testkit.Must(newGroup(s.cmd.Process.Pid, true))(t)
	for _, c := range []struct {
		speed   float64
		running float64
	}{{0.9, 4}, {0.05, 1}, {0.2, 1}, {1, 1}} {
		if err := g.set(c.speed, load{c.running, 1}); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := g.release(); err != nil {
		t.Error(err)
	}
	s.atHome(t)
}

func stopProcess(t *testing.T, pid int) {
	t.Helper()
	p, _ := os.FindProcess(pid)
	testkit.OK(t, p.Signal(syscall.SIGSTOP))
	for stateOf(pid) != "T" {
		time.Sleep(time.Millisecond)
	}
}

// A user who owns a part of the tree makes a group that only bears our name, with one below it, so that it cannot be removed.
func TestGroupOfAnotherUser(t *testing.T) {
	at := testkit.Must(findGroups())(t)
	part := filepath.Join(at.dir, "hostlab-test-"+strconv.Itoa(os.Getpid()))
	theirs := filepath.Join(part, namePrefix+"999999-1")
	all := []string{part, theirs, filepath.Join(theirs, "below")}
	for i, dir := range all {
		testkit.OK(t, os.Mkdir(dir, 0o755))
		t.Cleanup(func() { _ = os.Remove(all[i]) })
		testkit.OK(t, os.Chown(dir, 65534, 65534))
	}
	if brought, err := Sweep(); len(brought) > 0 || err != nil {
		t.Errorf("%+v, %v", brought, err)
	}
}

// A process that has the number of a member which has ended is none of ours to stop.
func TestNumberIsGivenAnew(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	testkit.OK(t, cmd.Start())
	held := testkit.Must(proc.Hold(cmd.Process.Pid))(t)
	f := family{root: os.Getpid()}
	f.look()
	if !slices.Contains(f.pids, cmd.Process.Pid) {
		t.Errorf("child %d is not among %v", cmd.Process.Pid, f.pids)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	const another = 1 // init's number, as if that were given anew
	f = family{root: os.Getpid(), member: map[int]*proc.Held{another: held}}
	f.look()
	if slices.Contains(f.pids, another) || slices.ContainsFunc(f.held, func(h *proc.Held) bool { return h == held }) {
		t.Errorf("process %d is a member: %v", another, f.pids)
	}
}

// A look that was kept from its CPU must not keep the next ones away for ten times as long.
func TestCostOfALook(t *testing.T) {
	const ms = time.Millisecond
	var f family
	for i, c := range []struct{ took, cost time.Duration }{
		{50 * ms, ms}, {50 * ms, 2 * ms}, {3 * ms, 3 * ms}, {time.Second, 6 * ms}, {2 * ms, 2 * ms},
	} {
		if f.spend(c.took); f.cost != c.cost {
			t.Errorf("look %d of %s: cost %s, want %s", i, c.took, f.cost, c.cost)
		}
	}
}
