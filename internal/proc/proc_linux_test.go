package proc

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

func start(t *testing.T, attr *syscall.SysProcAttr, args ...string) (*exec.Cmd, *Held) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.SysProcAttr = "/", attr
	testkit.OK(t, cmd.Start())
	h := testkit.Must(Hold(cmd.Process.Pid))(t)
	t.Cleanup(func() { h.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, h
}

// What was held and has ended gets no signal, and nobody in its place.
func TestHeld(t *testing.T) {
	cmd, h := start(t, nil, "sleep", "300")
	root := testkit.Must(os.Stat("/"))(t)
	other := testkit.Must(os.Stat(t.TempDir()))(t)
	if !h.Inside(root) || h.Inside(other) || !h.RunsAs(54321, os.Getuid()) || h.RunsAs(54321) || !h.OneUser() || h.Gone() || h.Parent != os.Getpid() {
		t.Errorf("%+v", h.Stat)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := h.Signal(syscall.SIGKILL); err != nil || !h.Gone() || h.RunsAs(os.Getuid()) {
		t.Errorf("after its end: %v", err)
	}
	testkit.Refused(Hold(cmd.Process.Pid))(t, "", "held after its end")
}

// Processes that are deaf or stopped end at the last step.
func TestEnd(t *testing.T) {
	var roots []int
	for _, args := range [][]string{{"sleep", "300"}, {"sh", "-c", "trap '' TERM; while :; do sleep 1; done"}} {
		cmd, h := start(t, nil, args...)
		if err := h.Signal(syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
		roots = append(roots, cmd.Process.Pid)
	}
	find := func() []*Held { return Find(Below(All(), roots...), func(*Held) bool { return true }) }
	if left := End(find, Step{syscall.SIGTERM, 50 * time.Millisecond}, Step{syscall.SIGKILL, 10 * time.Second}); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
}

// A group is signalled as long as its leader is not reaped, and never later.
func TestLeader(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 300 & exec sleep 300")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	testkit.OK(t, cmd.Start())
	l := Lead(cmd)
	l.Signal(syscall.SIGKILL)
	called := false
	if err := l.Wait(func() { called = true; l.Signal(syscall.SIGKILL) }); err == nil || !called {
		t.Errorf("ended with %v, called %v", err, called)
	}
	l.cmd.Process.Pid = os.Getpid() // as if the number were given anew: to us
	l.Signal(syscall.SIGKILL)
}

func TestBelow(t *testing.T) {
	all := []Stat{{PID: 5, Parent: 4}, {PID: 4, Parent: 3}, {PID: 3, Parent: 1}, {PID: 6, Parent: 1}, {PID: 1}}
	var got []int
	for _, s := range Below(all, 3) {
		got = append(got, s.PID)
	}
	testkit.Same(t, []int{5, 4, 3}, got)
}

// A priority counts among threads of one group; one that runs at the lowest already is told.
func TestShares(t *testing.T) {
	testkit.Is(t, ByThread, Shares(os.Getpid(), os.Getpid()).By, "itself")
	testkit.Is(t, "", Shares(os.Getpid(), 1<<30).By, "a process that is not there")
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	testkit.OK(t, cmd.Start())
	testkit.OK(t, unix.SchedSetAttr(cmd.Process.Pid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0))
	if s := Shares(cmd.Process.Pid, os.Getpid()); s.By != ByThread || !s.Idle {
		t.Errorf("a child at the lowest priority: %+v", s)
	}
}

// TestOpened: a connection that came since the last look counts, and one that was there does not.
func TestOpened(t *testing.T) {
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	var v Visitors
	for n := range 2 {
		client := testkit.Must(net.Dial("tcp", l.Addr().String()))(t)
		defer client.Close()
		server := testkit.Must(l.Accept())(t)
		defer server.Close()
		v.Look([]int{os.Getpid()})
		if got := v.Opened().OverTCP; (got > 0) != (n > 0) {
			t.Errorf("%d came since the first look: %g a second", n, got)
		}
	}
	to := l.Addr().String()
	testkit.Is(t, 0, len(v.OpenedTo()), "one is too few")
	waiting := map[int]int{}
	for _, taken := range []bool{false, true} {
		for range least {
			client := testkit.Must(net.Dial("tcp", to))(t)
			defer client.Close()
			if taken {
				server := testkit.Must(l.Accept())(t)
				defer server.Close()
			}
		}
		r := v.Look([]int{os.Getpid()})
		waiting[r.Connections]++
		if len(r.Asked) != 1 || v.OpenedTo()[to] <= 0 {
			t.Errorf("asked %v, opened %v", r.Asked, v.OpenedTo())
		}
	}
	testkit.Same(t, map[int]int{2: 1, 2 + least: 1}, waiting, "its own that nobody has taken are none of clients")
	names := map[string]bool{"/run/s": true}
	for i, x := range []unixSocket{{inode: 7, peer: 8, name: "/run/s"}, {inode: 8, peer: 7}, {peer: 8, name: "/run/s"},
		{inode: 9, name: "/run/s", listens: true}, {inode: 7, peer: 8, name: "/run/t"}} {
		testkit.Is(t, i == 0, x.cameTo(names), x)
	}
}

// TestGroupsOf: all groups of a process are known where trees of both versions have different ones.
func TestGroupsOf(t *testing.T) {
	for lines, want := range map[string][]string{
		"0::/system.slice/x.service\n": {"/system.slice/x.service"},
		"4:cpu,cpuacct:/docker/ab\n1:name=systemd:/docker/ab\n0::/system.slice/containerd.service\n": {
			"/system.slice/containerd.service", "/docker/ab"},
		"4:cpu,cpuacct:/docker/ab\n1:name=systemd:/docker/ab\n0::/\n": {"/docker/ab"},
		"4:cpu,cpuacct:/a\n3:memory:/b\n":                             {"/a", "/b"},
		"0::/\n":                                                      nil, "": nil, "x\n": nil,
	} {
		if got := groupsOf(ParseMemberships(lines)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
	}
}

// TestClientOf: the process at the other end of a connection is found, on a Unix socket and over loopback, and none where there is none.
func TestClientOf(t *testing.T) {
	testkit.Is(t, 0, ClientOf(os.Getpid()), "without a connection")
	testkit.Is(t, false, Hides(os.Getpid()), "hides its own connections")
	for network, address := range map[string]string{"unix": filepath.Join(t.TempDir(), "s"), "tcp": "127.0.0.1:0"} {
		l := testkit.Must(net.Listen(network, address))(t)
		client := testkit.Must(net.Dial(network, l.Addr().String()))(t)
		server := testkit.Must(l.Accept())(t)
		asked := []string{}
		for inode := range sockets(os.Getpid()) {
			if at := Servers(os.Getpid())[inode]; at != "" {
				asked = append(asked, at)
			}
		}
		if len(asked) != 1 || asked[0] != l.Addr().String() {
			t.Errorf("%s: it asks %v, want %s", network, asked, l.Addr())
		}
		testkit.Is(t, os.Getpid(), Listener(os.Getpid(), l.Addr().String()), network, "listens")
		for _, want := range []int{0, 1} {
			if r := new(Visitors).Look([]int{os.Getpid()}); r.Connections != 1 || r.Unread != want {
				t.Errorf("%s: %d connections, %d unread, want %d", network, r.Connections, r.Unread, want)
			}
			if _, err := client.Write([]byte{0}); err != nil { // loopback delivers it before the call returns
				t.Fatal(err)
			}
		}
		// The client's end goes to another process.
		f := testkit.Must(client.(interface{ File() (*os.File, error) }).File())(t)
		other := exec.Command("sleep", "1000")
		other.ExtraFiles = []*os.File{f}
		testkit.OK(t, other.Start())
		f.Close()
		client.Close()
		testkit.Same(t, map[int]bool{other.Process.Pid: true}, ClientsAmong([]int{1, other.Process.Pid}, []int{os.Getpid()}), network)
		testkit.Is(t, 0, len(ClientsAmong([]int{os.Getpid()}, []int{other.Process.Pid})), network, "its server")
		l.Close()
		testkit.Is(t, 0, Listener(os.Getpid(), l.Addr().String()), network, "listens after the end")
		testkit.Is(t, other.Process.Pid, ClientOf(os.Getpid()), network)
		_ = other.Process.Kill()
		_ = other.Wait()
		server.Close()
	}
}

// TestDiskOf: a disk's own number leads to it, and that of a file in memory to none.
func TestDiskOf(t *testing.T) {
	for _, file := range testkit.Must(filepath.Glob("/sys/block/*/dev"))(t) {
		var major, minor uint32
		text := testkit.Must(os.ReadFile(file))(t)
		testkit.Must(fmt.Sscanf(string(text), "%d:%d", &major, &minor))(t)
		testkit.Is(t, filepath.Base(filepath.Dir(file)), diskOf(unix.Mkdev(major, minor)), file)
	}
	testkit.Is(t, "", diskOf(unix.Mkdev(0, 25)), "no device")
	testkit.Same(t, map[string]bool{"none-such": true}, Under("none-such"))
	testkit.Is(t, true, len(DisksOf([]int{1 << 30})) == 0, "a process that is not there")
}

// TestOpen: who sent last waits for the other, and within one tick the slow ones decide.
func TestOpen(t *testing.T) {
	for name, c := range map[string]struct {
		asked, answered, since, before uint32
		want                           Open
	}{
		"nothing came yet": {0, 0, 40, 40, Open{}}, "new": {1, 0, 3, 3, Open{Asked: 1}}, "answered": {5, 5, 90, 40, Open{}},
		"asked again": {5, 4, 40, 90, Open{Asked: 1, Long: 1}}, "in a tick": {5, 4, 40, 40, Open{Same: 1}},
		"all but one answered": {500, 998, 40, 40, Open{Asked: 1, Long: 1}}, "all answered": {500, 1000, 40, 40, Open{}},
		"answers of several lengths": {500, 1001, 40, 40, Open{Same: 1}},
	} {
		testkit.Same(t, c.want, open(c.asked, c.answered, c.since, c.before), name)
	}
	testkit.Is(t, 11, Open{Asked: 1, Long: 1, Same: 10}.Count(), "a slow server")
	testkit.Is(t, 1, Open{Asked: 1, Same: 10}.Count(), "a quick one")
}

// Our own work is not others'.
func TestOthersLeaveOutOurselves(t *testing.T) {
	n := Watch([]int{0, 1})
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for ctx.Err() == nil {
			}
		}()
	}
	<-ctx.Done()
	ours := family() - n.own
	share, ok := n.Share()
	if !ok {
		t.Fatal("cannot tell on Linux")
	}
	// Whatever else runs here, what we used is not in it.
	if most := 1 - ours/(2*time.Since(n.began).Seconds()) + 0.1; share > most {
		t.Errorf("others took %.2f of two CPUs, of which we used %.2f s", share, ours)
	}
}

// A child that still runs is ours, and so is a process of a name that was given;
// one of another name is not.
func TestTakenKnowsWhatIsOurs(t *testing.T) {
	n := Watch(nil)
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	testkit.OK(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	live := 0.0
	for end := testkit.End(t); live < 0.3; live = living(os.Getpid()) {
		if time.Now().After(end) { // a loaded machine gives it a fraction of a CPU
			t.Fatalf("the child that spins has used %.2f s, as far as we see", live)
		}
		time.Sleep(50 * time.Millisecond)
	}
	got, ok := n.Taken()
	if !ok {
		t.Fatal("cannot tell on Linux")
	}
	wall := time.Since(n.began).Seconds()
	cpus := float64(len(n.before))
	if most := 1 - live/(wall*cpus) + 0.1; got.Foreign > most {
		t.Errorf("others took %.2f of %g CPUs, of which our child used %.2f s", got.Foreign, cpus, live)
	}
}

func TestOursByName(t *testing.T) {
	// A process that is not our child: its parent is gone.
	out := testkit.Must(exec.Command("sh", "-c", `cp "$(command -v sleep)" "$0/hl-database-server" && { "$0/hl-database-server" 30 >/dev/null 2>&1 & echo $!; }`, t.TempDir()).Output())(t)
	pid := testkit.Must(strconv.Atoi(strings.TrimSpace(string(out))))(t)
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	for end := testkit.End(t); ; time.Sleep(10 * time.Millisecond) {
		found := false
		for p := range readOurs([]string{"hl-database-server"}) {
			found = found || p.PID == pid
		}
		if found {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("process %d was not found by its name", pid)
		}
	}
	testkit.Is(t, 0, len(readOurs([]string{"hl-other"})), "found", "under a name that nobody has")
}

func TestOursUntil(t *testing.T) {
	p := func(pid int) Identity { return Identity{pid, int64(100 + pid)} }
	used := func(parent int, own, reaped float64) Stat {
		return Stat{Parent: parent, CPU: time.Duration(own * 1e9), Reaped: time.Duration(reaped * 1e9)}
	}
	before := times{p(1): used(0, 5, 10), p(2): used(1, 3, 0), p(3): used(99, 7, 0)}
	for name, c := range map[string]struct {
		after times
		want  float64
	}{
		"nothing happened":                       {before, 0},
		"a process worked":                       {times{p(1): used(0, 6, 10), p(2): used(1, 3.5, 0), p(3): used(99, 7, 0)}, 1.5},
		"a child was reaped":                     {times{p(1): used(0, 5, 14), p(3): used(99, 7, 0)}, 1},
		"one ended whose parent is not ours":     {times{p(1): used(0, 5, 10), p(2): used(1, 3, 0)}, 0},
		"one began":                              {times{p(1): used(0, 5, 10), p(2): used(1, 3, 0), p(3): used(99, 7, 0), p(4): used(1, 2, 0)}, 2},
		"the number of one was given to another": {times{p(1): used(0, 5, 14), p(3): used(99, 7, 0), {2, 999}: used(1, 0.5, 0)}, 1.5},
	} {
		if got := before.until(c.after); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g s, want %g", name, got, c.want)
		}
	}
}

// Of a connection that its server closed first, the kernel keeps no round trips; others at the port count all the same.
func TestEstablishedBesideHalfClosed(t *testing.T) {
	l := testkit.Must(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer l.Close()
	for _, closed := range []bool{true, false} {
		client := testkit.Must(net.Dial("tcp", l.Addr().String()))(t)
		defer client.Close()
		server := testkit.Must(l.Accept())(t)
		defer server.Close()
		if closed {
			testkit.OK(t, server.Close())
			testkit.Refused(client.Read(make([]byte, 1)))(t, "EOF")
		}
	}
	port := uint16(l.Addr().(*net.TCPAddr).Port) //nolint:gosec // it is a port
	bare := func(x *inetSocket) bool { return x.localPort == uint64(port) && x.info == nil }
	for end := testkit.End(t); !slices.ContainsFunc(overTCP(os.Getpid()), bare); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server's end shows with its round trips")
		}
	}
	testkit.Is(t, 1, len(testkit.Must(Established(port))(t)))
}

// TestAskedOverUnixSockets: a server is asked that has not taken a connection, or not read it; of one that is kept it
// does not show, and one that came since the last look asks.
func TestAskedOverUnixSockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l := testkit.Must(net.Listen("unix", path))(t)
	defer l.Close()
	var v Visitors
	look := func(asked, kept int, when string) {
		t.Helper()
		r := Requests{}
		v.asks(&r, unixSockets(), sockets(os.Getpid()))
		if r.Asked[path].Count() != asked || r.Kept[path] != kept {
			t.Errorf("%s: %+v, want %d asked, %d kept", when, r, asked, kept)
		}
	}
	client := testkit.Must(net.Dial("unix", path))(t)
	defer client.Close()
	look(1, 0, "nobody has taken it")
	server := testkit.Must(l.Accept())(t)
	defer server.Close()
	look(0, 1, "taken")
	testkit.Must(client.Write([]byte{0}))(t)
	look(1, 0, "not read")
	testkit.Must(server.Read(make([]byte, 1)))(t)
	look(0, 1, "read")
	another := testkit.Must(net.Dial("unix", path))(t)
	defer another.Close()
	defer testkit.Must(l.Accept())(t).Close()
	look(1, 1, "another came")
	testkit.Must(server.Write([]byte{0}))(t)
	look(0, 1, "an answer has come")
}
