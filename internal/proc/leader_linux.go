package proc

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Leader is a child of ours that leads a process group (SysProcAttr.Setpgid). Until it is
// reaped the number of the group is its own, and only until then the group is signalled.
type Leader struct {
	cmd    *exec.Cmd
	mu     sync.Mutex
	reaped bool
}

// Start starts a command as the leader of a group, which the kernel ends with the calling
// thread (PR_SET_PDEATHSIG in prctl(2)): that thread has to last as long.
func Start(cmd *exec.Cmd) (*Leader, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return Lead(cmd), nil
}

// Run is Wait, but when ctx is cancelled it asks the group to end, waits for a while until all
// of it has, and kills what is left. The calling thread itself waits for the end, and calls then
// at once: for many a program a switch to another thread would be a part of its time.
func (l *Leader) Run(ctx context.Context, grace time.Duration, then func()) (cancelled bool, err error) {
	ended, watched := make(chan struct{}), make(chan bool)
	go func() {
		select {
		case <-ended:
			watched <- false
			return
		case <-ctx.Done():
		}
		l.Signal(unix.SIGTERM)
		limit := time.NewTimer(grace)
		defer limit.Stop()
		select {
		case <-ended:
			for end := time.Now().Add(grace); l.alive() && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
		case <-limit.C:
		}
		l.Signal(unix.SIGKILL)
		watched <- true
	}()
	err = l.Wait(func() {
		if then != nil {
			then()
		}
		close(ended)
		cancelled = <-watched
	})
	return cancelled, err
}

// alive reports whether the group has a process that has not ended.
func (l *Leader) alive() bool {
	return slices.ContainsFunc(All(), func(s Stat) bool { return s.Group == l.Group() })
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
