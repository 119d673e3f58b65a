//go:build linux && amd64

package main

import (
	"math"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// fileCalls are the system calls by which hostlab reads and writes settings and its journal.
var fileCalls = map[uint64]bool{
	// renameat2
	syscall.SYS_WRITE: true, syscall.SYS_OPENAT: true, syscall.SYS_FSYNC: true, syscall.SYS_RENAMEAT: true, 316: true,
	syscall.SYS_UNLINKAT: true, syscall.SYS_FLOCK: true, syscall.SYS_CLOSE: true, syscall.SYS_MKDIRAT: true,
}

// firstCall skips what a program in Go does before it is hostlab's turn: calls count from the
// one that opens the lock of the journal.
const firstCall = "settings.lock"

func countCalls(args []string) int {
	n := trace(args, math.MaxInt, nil)
	hostlab("revert")
	return n
}

// atCall runs hostlab and does something at the n-th of the calls, before or after it at
// random; it reports whether it came to that.
func atCall(args []string, n int, do func(pid int) error) bool {
	return trace(args, n, do) == n
}

// trace runs hostlab under ptrace(2), all its threads, and counts calls up to n. Each call stops
// a thread twice; the entry is the moment before, the exit the one after.
func trace(args []string, n int, do func(pid int) error) (count int) {
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	cmd := command(args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		cannot(err.Error())
	}
	pid := cmd.Process.Pid
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		cannot("wait: " + err.Error())
	}
	// TRACESYSGOOD, TRACECLONE, EXITKILL
	const options = 0x1 | 0x8 | syscall.PTRACE_O_TRACEFORK | syscall.PTRACE_O_TRACEVFORK | 0x100000
	if err := syscall.PtraceSetOptions(pid, options); err != nil {
		cannot("ptrace: " + err.Error())
	}
	inside, started, after := map[int]bool{}, false, n%2 == 0
	resume := func(tid, sig int) { _ = syscall.PtraceSyscall(tid, sig) }
	resume(pid, 0)
	for {
		tid, err := syscall.Wait4(-1, &status, 0x40000000, nil) // __WALL
		if err != nil {
			return count
		}
		switch {
		case (status.Exited() || status.Signaled()) && tid == pid:
			reap(cmd)
			return count
		case status.Exited() || status.Signaled():
			continue
		case !status.Stopped():
			continue
		case status.StopSignal() != syscall.SIGTRAP|0x80:
			sig := status.StopSignal()
			if sig == syscall.SIGTRAP || sig == syscall.SIGSTOP {
				sig = 0
			}
			resume(tid, int(sig))
			continue
		}
		inside[tid] = !inside[tid]
		var regs syscall.PtraceRegs
		if err := syscall.PtraceGetRegs(tid, &regs); err == nil && fileCalls[regs.Orig_rax] {
			if !started && inside[tid] && regs.Orig_rax == syscall.SYS_OPENAT {
				started = strings.Contains(text(tid, uintptr(regs.Rsi)), firstCall)
			}
			if started && inside[tid] {
				count++
			}
			if started && count == n && inside[tid] != after {
				if err := do(pid); err != nil {
					cannot(err.Error())
				}
				do = func(int) error { return nil }
			}
		}
		resume(tid, 0)
	}
}

// text reads a string of the traced process.
func text(tid int, at uintptr) string {
	b := make([]byte, 128)
	n, _ := syscall.PtracePeekData(tid, at, b)
	s, _, _ := strings.Cut(string(b[:n]), "\x00")
	return s
}

func reap(cmd *exec.Cmd) { _ = cmd.Process.Release() }
