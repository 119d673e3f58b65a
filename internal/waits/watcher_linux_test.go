package waits

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

const role = "HOSTLAB_WAITS_TEST"

func init() { runtime.LockOSThread() } // main runs on the process' first thread

func TestMain(m *testing.M) {
	if r := os.Getenv(role); r != "" {
		act(r, os.Args[1])
	}
	os.Exit(m.Run())
}

// act does one thing for ever, in a raw system call, so that no runtime stands between.
func act(r, file string) {
	if r == "ask" || r == "poll" {
		ask(r, file)
	}
	if r == "query" || r == "stray" {
		query(r, file)
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	fd := int(f.Fd())
	for {
		switch r {
		case "spin":
		case "sync":
			_, _ = unix.Pwrite(fd, []byte("x"), 0)
			_ = unix.Fdatasync(fd)
		case "lock":
			_ = unix.Flock(fd, unix.LOCK_EX)
		case "sleep":
			t := unix.Timespec{Sec: 100}
			_ = unix.Nanosleep(&t, nil)
		case "pipe":
			var p [2]int
			_ = unix.Pipe(p[:])
			_, _ = unix.Read(p[0], make([]byte, 1))
		case "child":
			cmd := exec.Command("sleep", "1000")
			cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL} // nobody else ends it
			_ = cmd.Run()
		case "push":
			var p [2]int
			_ = unix.Pipe(p[:])
			for { // until it is full
				_, _ = unix.Write(p[1], make([]byte, 4096))
			}
		}
	}
}

// ask asks a server again and again, and waits for its answer in recvfrom or in poll.
func ask(r, file string) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: file})
	}
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	for b := []byte{0}; ; {
		_, _ = unix.Write(fd, b)
		if r == "poll" {
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		}
		_, _, _ = unix.Recvfrom(fd, b, 0)
	}
}

// query asks over UDP, by a socket of its own each time, which is connected or not, and waits for an answer that does
// not come.
func query(r, address string) {
	to := netip.MustParseAddrPort(address)
	server := &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	fmt.Println("ready")
	for {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err == nil && r == "query" {
			err = unix.Connect(fd, server)
		}
		if err != nil {
			panic(err)
		}
		_ = unix.Sendto(fd, []byte{0}, 0, server)
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
		_ = unix.Close(fd)
	}
}

// slow answers each byte after a while.
func slow(t *testing.T, file string) {
	t.Helper()
	l := testkit.Must(net.Listen("unix", file))(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for b := []byte{0}; ; {
					if _, err := c.Read(b); err != nil {
						return
					}
					time.Sleep(20 * time.Millisecond)
					if _, err := c.Write(b); err != nil {
						return
					}
				}
			}()
		}
	}()
}

// TestKinds: each kind of wait is the main part of a process that does nothing else, on the file that it names.
func TestKinds(t *testing.T) {
	dir := t.TempDir()
	held := testkit.Must(os.Create(filepath.Join(dir, "lock")))(t)
	defer held.Close()
	testkit.OK(t, unix.Flock(int(held.Fd()), unix.LOCK_EX))
	server := filepath.Join(dir, "server")
	slow(t, server)
	mute := testkit.Must(net.ListenPacket("udp4", "127.0.0.1:0"))(t)
	defer mute.Close()
	want := map[string]Wait{
		"spin": {Kind: Running}, "lock": {Kind: Lock, On: held.Name()}, "sleep": {Kind: Sleep}, "child": {Kind: Child, On: "sleep", Does: Sleep}, "pipe": {Kind: Peer, On: "pipe"}, "push": {Kind: Push, On: "pipe"},
		"ask": {Kind: Server, On: server}, "poll": {Kind: Server, On: server},
		"query": {Kind: Server, On: mute.LocalAddr().String() + "/udp"}, "stray": {Kind: Server, On: proc.Unnamed},
	}
	var pids []int
	roles := map[string]int{}
	for r, wait := range want {
		file := filepath.Join(dir, r)
		if wait.Kind == Server {
			file = strings.TrimSuffix(wait.On, "/udp")
		}
		if r == "stray" {
			file = mute.LocalAddr().String()
		}
		roles[r] = start(t, r, file)
		pids = append(pids, roles[r])
	}
	w := Open(func() []int { return pids })
	for end := time.Now().Add(2500 * time.Millisecond); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		w.Look()
	}
	w.Close()
	got := w.Tally()
	for r, pid := range roles {
		main, as, all := got.Looks[Thread{pid, pid}], 0.0, 0.0
		for wait, s := range main {
			if wait.On, _, _ = strings.Cut(wait.On, ":["); wait == want[r] { // pipe:[7]
				as += s
			}
			all += s
		}
		least := 0.5
		if r == "query" || r == "stray" { // a socket that closes before the kernel has listed it is nobody's
			least = 0.05
		}
		if as < least*all || all < 2 { // at its beginning, and while others have the CPU, it does other things
			t.Errorf("%s: %+v for %.2f of %.2f s: %v", r, want[r], as, all, main)
		}
	}
}

func start(t *testing.T, r, file string) (pid int) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", file)
	cmd.Env = append(os.Environ(), role+"="+r, "GOMAXPROCS=1")
	out := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	testkit.Must(bufio.NewReader(out).ReadString('\n'))(t)
	return cmd.Process.Pid
}

// TestThrough: each write to a file waits for its device where it was opened so.
func TestThrough(t *testing.T) {
	for flags, want := range map[int]bool{os.O_RDWR: false, os.O_RDWR | unix.O_DSYNC: true, os.O_RDWR | os.O_SYNC: true} {
		f := testkit.Must(os.OpenFile(filepath.Join(t.TempDir(), "f"), flags|os.O_CREATE, 0o600))(t)
		testkit.Is(t, want, through(os.Getpid(), int64(f.Fd())), flags)
		f.Close()
	}
}
