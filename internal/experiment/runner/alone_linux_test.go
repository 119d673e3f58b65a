//go:build system

package runner

import (
	"net"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// Another user who has the socket's name keeps nobody out, and is no experiment.
func TestSocketOfAnotherUser(t *testing.T) {
	testkit.Root(t)
	const nobody = 65534
	listens, done := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread, which alone is that user, ends with it
		if _, _, no := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), nobody, ^uintptr(0)); no != 0 {
			listens <- no
			return
		}
		l, err := net.Listen("unix", aloneName)
		listens <- err
		if err == nil {
			<-done
			listens <- l.Close()
		}
	}()
	testkit.OK(t, <-listens)
	defer func() {
		close(done)
		if err := <-listens; err != nil {
			t.Error(err)
		}
	}()
	if pid, runs := Running(); runs {
		t.Errorf("process %d is taken for an experiment", pid)
	}
	a := testkit.Must(takeAlone())(t)
	if pid, runs := Running(); !runs || pid != os.Getpid() {
		t.Errorf("process %d, runs: %v", pid, runs)
	}
	if err := a.close(); err != nil {
		t.Error(err)
	}
}

// The socket of root or of this user is believed.
func TestSocketOfOurs(t *testing.T) {
	l := testkit.Must(net.Listen("unix", aloneName))(t)
	if pid, runs := Running(); !runs || pid != os.Getpid() {
		t.Errorf("process %d, runs: %v", pid, runs)
	}
	if a, err := tryAlone(); err == nil {
		_ = a.close()
		t.Error("a second experiment began")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
