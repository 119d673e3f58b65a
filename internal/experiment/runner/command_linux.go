package runner

import (
	"context"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// attributes puts a command into a process group of its own, and ends it if we are
// killed: one that changed a level after a resume had restored it would be worse
// than one that is cut short.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// runGroup runs a command to its end, and ends its process group when ctx is
// cancelled.
func runGroup(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	leader := proc.Lead(cmd)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		proc.AwaitEnd(leader.Group())
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		endGroup(leader, ended)
	}
	return leader.Wait(nil)
}

// endGroup asks a group to end, waits until all of it has, for a while, and kills
// what is left. ended is closed when its leader has ended, who is not reaped before.
func endGroup(leader *proc.Leader, ended <-chan struct{}) {
	leader.Signal(unix.SIGTERM)
	grace := time.NewTimer(graceEnd)
	defer grace.Stop()
	select {
	case <-ended:
		for end := time.Now().Add(graceEnd); alive(leader.Group()) && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	case <-grace.C:
	}
	leader.Signal(unix.SIGKILL)
	<-ended
}

// alive reports whether a group has a process that is no zombie.
func alive(group int) bool {
	for _, s := range proc.All() {
		if s.Group == group {
			return true
		}
	}
	return false
}
