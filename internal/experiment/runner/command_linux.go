package runner

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes puts a command into a process group of its own, and ends it if we are
// killed: one that changed a level after a resume had restored it would be worse
// than one that is cut short.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func terminate(p *os.Process) { _ = unix.Kill(-p.Pid, unix.SIGTERM) }

func kill(p *os.Process) { _ = unix.Kill(-p.Pid, unix.SIGKILL) }
