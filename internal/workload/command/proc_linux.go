package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attributes puts the program into a process group of its own, which can be ended
// as one, and ends it with the thread that started it. Its own children outlive a
// hostlab that is killed outright; those of one that is stopped do not.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func terminate(p *os.Process) { toGroup(p, unix.SIGTERM) }
func kill(p *os.Process)      { toGroup(p, unix.SIGKILL) }

// toGroup signals the group, and wakes stopped members so that they see it.
func toGroup(p *os.Process, s unix.Signal) {
	_ = unix.Kill(-p.Pid, s) // ESRCH: gone already
	_ = unix.Kill(-p.Pid, unix.SIGCONT)
}

// await waits until the program has ended and calls then before it is reaped: up
// to there the number of its group is not given to others.
func await(cmd *exec.Cmd, then func()) error {
	for errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	then()
	return cmd.Wait()
}

// endGroup ends what is left of the group after the program itself has ended, and
// says so, or returns "".
func endGroup(p *os.Process) string {
	left := members(p.Pid)
	for end := time.Now().Add(graceLeft); len(left) > 0 && time.Now().Before(end); left = members(p.Pid) {
		time.Sleep(5 * time.Millisecond) // they may be ending too
	}
	if len(left) == 0 {
		return ""
	}
	found := fmt.Sprintf("left %d processes running (%s), which were ended; what they used is not in the responses", len(left), strings.Join(left, ", "))
	if len(left) == 1 {
		found = fmt.Sprintf("left a process running (%s), which was ended; what it used is not in the responses", left[0])
	}
	terminate(p)
	for end := time.Now().Add(graceTerm); len(members(p.Pid)) > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	kill(p)
	return found
}

// members names the processes of a group other than its leader that have not
// ended. Zombies are left out: an init of a container may never reap them.
func members(group int) (names []string) {
	if unix.Kill(-group, 0) != nil {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == group {
			continue
		}
		b, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// pid (comm) state ppid pgrp: proc_pid_stat(5); comm may hold anything.
		open, shut := strings.IndexByte(string(b), '('), strings.LastIndexByte(string(b), ')')
		if open < 0 || shut < open {
			continue
		}
		if f := strings.Fields(string(b[shut+1:])); len(f) > 2 && f[2] == strconv.Itoa(group) && f[0] != "Z" && f[0] != "X" {
			names = append(names, string(b[open+1:shut])+" "+e.Name())
		}
	}
	return names
}

// ownPeak is this process's own peak of memory in bytes.
func ownPeak() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "\nVmHWM:")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(f[0], 10, 64) // 0: not known
	return kib << 10
}

// usageOf reads what wait4 returned. execve counts the peak of the memory that a
// process had before as its own (exec_mmap in fs/exec.c), which for a child is
// still the parent's: a program that needs less than hostlab seems to need as
// much, so that its true peak is not known.
func usageOf(state *os.ProcessState) (u usage) {
	if state == nil {
		return usage{noMaxRSS: "the process's end was not seen"}
	}
	u.user, u.system = state.UserTime(), state.SystemTime()
	ru, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		u.noMaxRSS = "the system did not tell"
		return u
	}
	u.maxRSS = ru.Maxrss << 10
	// Linux 6.2 and later count memory in batches per CPU, so that the two may differ a little.
	if floor := ownPeak(); u.maxRSS <= floor+floor/32 {
		u.noMaxRSS = fmt.Sprintf("it is below %d MiB, hostlab's own peak, which Linux counts as that of every program it starts", (floor+1<<20-1)>>20)
	}
	return u
}

// signalled says which signal ended the process, or "".
func signalled(state *os.ProcessState) string {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return ""
	}
	text := fmt.Sprintf("was ended by signal %d (%s)", int(ws.Signal()), unix.SignalName(ws.Signal()))
	if ws.Signal() == unix.SIGKILL {
		text += ", as the kernel does when memory runs out (see dmesg)"
	}
	return text
}

// startHint says what to do about a program that is there but does not start.
func startHint(err error) string {
	switch {
	case errors.Is(err, unix.ENOEXEC):
		return "; a script needs a first line such as #!/bin/sh"
	case errors.Is(err, unix.ENOENT):
		return "; the interpreter in its first line, or its loader, does not exist"
	case errors.Is(err, unix.E2BIG):
		return "; the arguments are too long"
	}
	return ""
}
