//go:build system

package emulate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hostlab/internal/hot"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
	"hostlab/internal/worker"
)

// role makes this test's program one that spins, or one that emulates and waits.
const role = "HOSTLAB_TEST_ROLE"

func TestMain(m *testing.M) {
	worker.Main(Jobs())
	switch os.Getenv(role) {
	case "spin":
		for n := uint64(1); n > 0; {
			hot.Adds(1 << 20)
		}
	case "parent":
		parent()
	}
	os.Exit(m.Run())
}

// spinner starts a process that computes.
func spinner() (*exec.Cmd, error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), role+"=spin")
	return cmd, cmd.Start()
}

func start(t *testing.T) int {
	t.Helper()
	cmd := testkit.Must(spinner())(t)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

// parent emulates with a child, says both processes' numbers and waits to be killed.
func parent() {
	m, of := Method(os.Getenv("METHOD")), os.Getenv("SERVICE")
	start := func() (*Emulation, error) { return Start(m) }
	if of != "" {
		start = func() (*Emulation, error) { return StartFor(m, atoi(of)) }
	}
	e, err := start()
	if err == nil {
		err = e.Set("fixed:20", 0.05)
	}
	child, cerr := spinner()
	if err != nil || cerr != nil {
		fmt.Println(err, cerr)
		os.Exit(1)
	}
	time.Sleep(300 * time.Millisecond)
	_, err = e.Totals()
	fmt.Println(child.Process.Pid, e.s.PID(), err)
	select {}
}

// methods are those of this host. Signals are everywhere; groups where we may.
func methods() []Method {
	if usable(Group, os.Getpid()) != nil {
		return []Method{Stop}
	}
	return []Method{Stop, Group}
}

// TestSpeed slows a real process down and lets it go.
func TestSpeed(t *testing.T) {
	for _, m := range methods() {
		t.Run(string(m), func(t *testing.T) {
			pid := start(t)
			e := testkit.Must(Start(m))(t)
			defer e.Close()
			share := func(policy string) float64 {
				testkit.OK(t, e.Set(policy, 0.05))
				time.Sleep(300 * time.Millisecond)
				before, _, _ := proc.Schedstat(strconv.Itoa(pid))
				began := time.Now()
				time.Sleep(600 * time.Millisecond)
				after, _, _ := proc.Schedstat(strconv.Itoa(pid))
				return float64(after-before) / float64(time.Since(began))
			}
			before := testkit.Must(e.Totals())(t)
			// Others on this host can only take from it, so that a share has a bound above alone.
			got := share("fixed:30")
			if got > 0.4 {
				t.Errorf("a process at 30 %% of its speed got %.2f of the time", got)
			}
			total, err := e.Totals()
			if err != nil || !(total.Clocked > 1.1*total.Used) || !(total.Asked > 0) {
				t.Errorf("totals %+v, error %v", total, err)
			}
			// A quota on a CPU that others have too keeps less, as the process does not come to it.
			alone := got > 0.25
			if did := total.Sub(before); !(did.Asked > 0) || alone && !(did.Kept > 0.4*did.Asked) || did.Kept > 1.25*did.Asked {
				t.Errorf("kept from its CPU for %.3f s of %.3f s asked", did.Kept, did.Asked)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if s := stateOf(pid); s == "T" {
				t.Error("the process is still stopped")
			}
			leftGroups(t)
		})
	}
}

// TestParentKilled kills the process that emulates: what it slowed down runs on freely.
func TestParentKilled(t *testing.T) {
	for _, m := range methods() {
		t.Run(string(m), func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), role+"=parent", "METHOD="+string(m))
			out := testkit.Must(cmd.StdoutPipe())(t)
			testkit.OK(t, cmd.Start())
			line, _ := bufio.NewReader(out).ReadString('\n')
			var child, governor int
			if _, err := fmt.Sscan(line, &child, &governor); err != nil {
				t.Fatalf("the parent said %q", line)
			}
			defer func() { p, _ := os.FindProcess(child); _ = p.Kill() }()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			for end := testkit.End(t); ; time.Sleep(10 * time.Millisecond) {
				if stateOf(governor) == "" && stateOf(child) != "T" {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("after the kill the governor is in state %q and the child in %q", stateOf(governor), stateOf(child))
				}
			}
			time.Sleep(20 * time.Millisecond)
			if s := stateOf(child); s == "T" || s == "" {
				t.Errorf("the child is in state %q", s)
			}
			leftGroups(t)
		})
	}
}

// stateOf is the state of a process as proc_pid_stat(5) has it; "" when it is gone or
// only waits to be reaped.
func stateOf(pid int) string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	shut := bytes.LastIndexByte(b, ')')
	if err != nil || shut < 0 {
		return ""
	}
	s := string(bytes.Fields(b[shut+1:])[0])
	return strings.TrimPrefix(s, "Z")
}

// leftGroups fails if a group of ours whose process has ended is there.
func leftGroups(t *testing.T) {
	t.Helper()
	if left := Leftovers(); len(left) > 0 {
		t.Errorf("%+v is left", left)
	}
}

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

func TestGroupsOf(t *testing.T) {
	one := []proc.Hierarchy{{Controllers: []string{"cpuset"}, Mount: "/cpuset"}, {Controllers: []string{"cpu", "cpuacct"}, Mount: "/cpu,cpuacct"}}
	two := []proc.Hierarchy{{Controllers: []string{""}, Mount: "/two"}}
	for _, c := range []struct {
		mounted []proc.Hierarchy
		want    groups
		ok      bool
	}{
		{one, groups{dir: "/cpu,cpuacct"}, true},
		{two, groups{dir: "/two", v2: true}, true},
		{slices.Concat(two, one), groups{dir: "/cpu,cpuacct"}, true},
		{nil, groups{}, false},
	} {
		if got, ok := groupsOf(c.mounted); got != c.want || ok != c.ok {
			t.Errorf("%v: %+v %v, want %+v %v", c.mounted, got, ok, c.want, c.ok)
		}
	}
}

func TestQuota(t *testing.T) {
	for _, c := range []struct {
		v2      bool
		speed   float64
		threads float64
		want    string
	}{
		{false, 0.5, 1, "cpu.cfs_period_us=8000\ncpu.cfs_quota_us=4000"},
		{false, 0.5, 4, "cpu.cfs_period_us=8000\ncpu.cfs_quota_us=16000"},
		{false, 0.5, 1.1, "cpu.cfs_period_us=8000\ncpu.cfs_quota_us=4400"},
		{false, 0.05, 1, "cpu.cfs_period_us=20000\ncpu.cfs_quota_us=1000"},
		{true, 0.22, 0.29, "cpu.max=1000 15673"},
		{false, 1, 3, "cpu.cfs_quota_us=-1"},
		{true, 0.5, 2, "cpu.max=8000 8000"},
		{true, 1, 2, "cpu.max=max"},
	} {
		g := group{groups: groups{v2: c.v2}}
		var got []string
		for _, w := range g.quota(c.speed, c.threads) {
			got = append(got, w.file+"="+w.value)
		}
		testkit.Is(t, c.want, strings.Join(got, "\n"), c, got)
	}
}

// A second of work that is never interrupted is stopped for as long as it asks, whatever
// late wake-ups make of single stops; and a stop that hit nobody is owed on.
func TestLedger(t *testing.T) {
	const ms = time.Millisecond
	var l ledger
	hit, ran := time.Duration(0), time.Duration(0)
	for i := 0; ran < time.Second; i++ {
		free := ms
		if i%10 == 0 {
			free = 12 * ms // it woke up late
		}
		ran += free
		hit += l.ran(free, free, 0.5)
		if l.owed > 0 {
			l.stopped(min(l.owed, longStop) + ms/5)
		}
	}
	if off := hit - ran; off < -20*ms || off > 20*ms {
		t.Errorf("stopped for %s of %s asked", hit, ran)
	}

	l = ledger{}
	l.ran(ms, ms, 0.5)
	l.stopped(ms)
	for range 20 {
		testkit.Is(t, 0, l.ran(0, ms, 0.5), "a stop of nobody counts")
	}
	testkit.Is(t, ms, l.owed, "after a stop that hit nobody", "is owed, want 1ms")
}

func TestStopped(t *testing.T) {
	g := &group{path: t.TempDir()}
	for stat, want := range map[string]time.Duration{
		"nr_periods 9\nnr_throttled 4\nthrottled_time 123456789\nnr_bursts 0\n": 123456789,
		"usage_usec 5\nnr_periods 9\nthrottled_usec 4500\n":                     4500 * time.Microsecond,
		"": 0,
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(g.path, "cpu.stat"), []byte(stat), 0o600))
		testkit.Is(t, want, g.kept(), stat)
	}
}

// What is written to a group's files: no quota at full speed, whatever was before, and a
// weight for each thread, so that company on the host takes no more than it would outside.
func TestGroupFiles(t *testing.T) {
	const quota, period, shares = "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares"
	dir := t.TempDir()
	g := group{groups: groups{dir: dir}, path: dir}
	for _, f := range []string{quota, period, shares} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, f), nil, 0o600))
	}
	for _, c := range []struct {
		speed        float64
		threads      load
		quota, share string
	}{
		{0.5, load{1, 1}, "4000", "1024"},
		{1, load{1, 2}, "-1", "2048"},
		{1, load{2, 2}, "-1", "2048"},
		{0.5, load{2, 3}, "8000", "3072"},
		{1, load{1, 1000}, "-1", "262144"},
	} {
		for _, f := range []string{quota, shares} { // the kernel takes a write as a whole, a file does not
			testkit.OK(t, os.Truncate(filepath.Join(dir, f), 0))
		}
		g.written = nil
		testkit.OK(t, g.set(c.speed, c.threads))
		for f, want := range map[string]string{quota: c.quota, shares: c.share} {
			if got, _ := os.ReadFile(filepath.Join(dir, f)); string(got) != want {
				t.Errorf("%+v: %s has %q, want %q", c, f, got, want)
			}
		}
	}
	// A small change leaves the quota alone: each write gives the group a whole new one.
	for _, c := range []struct {
		running float64
		quota   string
	}{{1, "4000"}, {1.05, ""}, {0.96, ""}, {2, "8000"}, {2, ""}} {
		testkit.OK(t, os.Truncate(filepath.Join(dir, quota), 0))
		testkit.OK(t, g.set(0.5, load{c.running, int(10 * c.running)}))
		if got, _ := os.ReadFile(filepath.Join(dir, quota)); string(got) != c.quota {
			t.Errorf("%g threads: %s has %q written to it, want %q", c.running, quota, got, c.quota)
		}
	}
	g.v2 = true
	testkit.Is(t, (write{"cpu.weight", "300"}), g.weight(3))
	testkit.Fails(t, g.set(1, load{1, 1}), "cpu.max", "a group without the file")
}

// TestGovernorKilled kills the governor: what it had slowed down runs on freely.
func TestGovernorKilled(t *testing.T) {
	for _, m := range methods() {
		t.Run(string(m), func(t *testing.T) {
			pid := start(t)
			e := testkit.Must(Start(m))(t)
			testkit.OK(t, e.Set("fixed:10", 0.05))
			time.Sleep(200 * time.Millisecond)
			governor, _ := os.FindProcess(e.s.PID())
			testkit.OK(t, governor.Kill())
			for end, free := testkit.End(t), 0; free < 20; time.Sleep(5 * time.Millisecond) {
				if free++; stateOf(pid) == "T" || groupOf(e.s.PID()) {
					free = 0
				}
				if time.Now().After(end) {
					t.Fatalf("after the kill the process is in state %q; its group is there: %v", stateOf(pid), groupOf(e.s.PID()))
				}
			}
			if _, err := e.Totals(); err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("a governor that was killed: %v", err)
			}
			_ = e.Close()
		})
	}
}

// groupOf reports whether a governor's group is there.
func groupOf(pid int) bool {
	at, err := findGroups()
	if err != nil {
		return false
	}
	home, err := at.of(os.Getpid())
	if err != nil {
		return false
	}
	found, _ := filepath.Glob(filepath.Join(home, fmt.Sprintf("%s%d-*", namePrefix, pid)))
	return len(found) > 0
}

func TestSweepRemovesGroupsOfTheDead(t *testing.T) {
	at := groups{dir: t.TempDir()}
	dead := exec.Command("true")
	testkit.OK(t, dead.Run())
	left := filepath.Join(at.dir, "web", fmt.Sprintf("%s%d-5", namePrefix, dead.Process.Pid))
	again := filepath.Join(at.dir, fmt.Sprintf("%s%d-5", namePrefix, os.Getpid())) // its number is another's now
	ours, foreign := filepath.Join(at.dir, nameOf(os.Getpid())), filepath.Join(at.dir, "web", "app")
	for _, dir := range []string{left, again, ours, foreign} {
		testkit.OK(t, os.MkdirAll(dir, 0o755))
	}
	list := at.left()
	if !slices.Equal(list, []Left{{again, 0}, {left, 0}}) {
		t.Fatalf("left: %+v", list)
	}
	list = list[1:]
	if err := at.dissolve(list[0].Group); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the group of a process that has ended is still there: %v", err)
	}
	for _, dir := range []string{ours, foreign} {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("a group of the living, or of somebody else: %v", err)
		}
	}
}
