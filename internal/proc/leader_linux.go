package proc

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Leader is a child of ours that leads a process group (SysProcAttr.Setpgid). Until it is
// reaped the number of the group is its own, and only until then the group is signalled.
type Leader struct {
	cmd    *exec.Cmd
	mu     sync.Mutex
	reaped bool
}

// Lead takes a command that was started.
func Lead(cmd *exec.Cmd) *Leader { return &Leader{cmd: cmd} }

// Group is the number of the group.
func (l *Leader) Group() int { return l.cmd.Process.Pid }

// Wait waits until the leader has ended, calls then, which may be nil, while the number is
// still its own, and reaps it.
func (l *Leader) Wait(then func()) error {
	AwaitEnd(l.Group())
	if then != nil {
		then()
	}
	l.mu.Lock()
	l.reaped = true
	l.mu.Unlock()
	return l.cmd.Wait()
}

// Signal signals the group, and wakes members that are stopped, so that they see it.
func (l *Leader) Signal(sig syscall.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.reaped {
		_ = unix.Kill(-l.Group(), sig)
		_ = unix.Kill(-l.Group(), unix.SIGCONT)
	}
}

// AwaitEnd waits until a child of ours has ended. It does not reap it.
func AwaitEnd(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}
