// Tests of services take a network namespace that is some
// milliseconds away, as no kernel of ours has netem.
package testkit

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Far is a network namespace that every packet takes a while to reach and to leave.
type Far struct {
	Near string // this side's address
	name string
}

// NewFar makes one that is a round trip away. It takes root, and lasts as long as the test.
func NewFar(t testing.TB, name string, trip time.Duration) *Far {
	t.Helper()
	run(t, "ip", "netns", "add", name)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
	f := &Far{Near: "10.213.77.1", name: name}
	near := tunnel(t, "hlnear", func(do func() error) error { return do() })
	far := tunnel(t, "hlfar", f.Do)
	run(t, "ip", "addr", "add", f.Near, "peer", "10.213.77.2", "dev", "hlnear")
	run(t, "ip", "link", "set", "hlnear", "up")
	run(t, "ip", "-n", name, "addr", "add", "10.213.77.2", "peer", f.Near, "dev", "hlfar")
	run(t, "ip", "-n", name, "link", "set", "hlfar", "up")
	go carry(near, far, trip/2)
	go carry(far, near, trip/2)
	return f
}

// Do runs something on a thread in the namespace. Sockets that it opens stay there.
func (f *Far) Do(do func() error) error {
	done := make(chan error)
	go func() { // the thread ends with it
		runtime.LockOSThread()
		fd, err := unix.Open("/var/run/netns/"+f.name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
			unix.Close(fd)
		}
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}

// tunnel makes a device whose packets are read and written as a file.
func tunnel(t testing.TB, name string, in func(func() error) error) *os.File {
	t.Helper()
	var file *os.File
	err := in(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		ifr, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
			return err
		}
		file = os.NewFile(uintptr(fd), name)
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// carry takes each packet from one side to the other after a delay, in order.
func carry(from, to *os.File, delay time.Duration) {
	type packet struct {
		at   time.Time
		data []byte
	}
	queue := make(chan packet, 4096)
	go func() {
		for p := range queue {
			time.Sleep(time.Until(p.at))
			_, _ = to.Write(p.data)
		}
	}()
	defer close(queue)
	for {
		b := make([]byte, 65536)
		n, err := from.Read(b)
		if err != nil {
			return
		}
		select {
		case queue <- packet{time.Now().Add(delay), b[:n]}:
		default: // lost, as on a network
		}
	}
}

func run(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
}
