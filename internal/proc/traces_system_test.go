//go:build linux && system

package proc

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hostlab/internal/testkit"
)

// Root of a container may lack the capability, which is said in place of "it takes root".
func TestCannotTrace(t *testing.T) {
	testkit.Is(t, "", CannotTrace(), "as root")
	said := make(chan string)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its capabilities
		var data [2]unix.CapUserData
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		err := unix.Capget(&header, &data[0])
		data[0].Effective &^= 1 << unix.CAP_SYS_PTRACE
		if err == nil {
			err = unix.Capset(&header, &data[0])
		}
		if err != nil {
			said <- err.Error()
			return
		}
		said <- CannotTrace()
	}()
	if got := <-said; !strings.Contains(got, "SYS_PTRACE") {
		t.Error(got)
	}
}

// TestGuard: a process that is asked before a file is opened is found, and a file system that no process serves is none's.
func TestGuard(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	fd := testkit.Must(unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY))(t)
	defer unix.Close(fd)
	before := Guard()
	testkit.OK(t, unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN_PERM, unix.AT_FDCWD, file))
	if got := Guard(); before == 0 && got != os.Getpid() {
		t.Errorf("guard %d, before %d", got, before)
	}
	if pid, fuse, _ := FileSystem(os.Getpid(), "/proc/self/stat"); pid != 0 || fuse {
		t.Errorf("/proc is served by %d", pid)
	}
}
