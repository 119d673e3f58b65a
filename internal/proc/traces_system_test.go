//go:build linux && system

package proc

import (
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
