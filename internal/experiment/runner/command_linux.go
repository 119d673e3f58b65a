package runner

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
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
	group := cmd.Process.Pid
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// WNOWAIT: until Wait reaps it, the number of its group is not given to others, so
		// that no signal goes astray.
		for errors.Is(unix.Waitid(unix.P_PID, group, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		endGroup(group, ended)
	}
	return cmd.Wait()
}

// endGroup asks a group to end, waits until all of it has, for a while, and kills
// what is left. ended is closed when its leader has ended.
func endGroup(group int, ended <-chan struct{}) {
	_ = unix.Kill(-group, unix.SIGTERM)
	_ = unix.Kill(-group, unix.SIGCONT) // those that are stopped would not see it
	grace := time.NewTimer(graceEnd)
	defer grace.Stop()
	select {
	case <-ended:
		for end := time.Now().Add(graceEnd); alive(group) && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	case <-grace.C:
	}
	_ = unix.Kill(-group, unix.SIGKILL)
	<-ended
}

// alive reports whether a group has a process that is no zombie.
func alive(group int) bool {
	all, err := procfs.AllProcs()
	if err != nil {
		return false
	}
	for _, p := range all {
		if st, err := p.Stat(); err == nil && st.PGRP == group && st.State != "Z" && st.State != "X" {
			return true
		}
	}
	return false
}
