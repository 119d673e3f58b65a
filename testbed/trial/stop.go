//go:build linux && amd64

package main

import (
	"fmt"
	"strings"
	"syscall"
	"time"
)

// caught stops processes while something holds, and says whether it still does once they stand: they may have been
// about to end it. If not, they go on.
func caught(pids []int, holds func() bool) bool {
	if !holds() {
		return false
	}
	signal(pids, syscall.SIGSTOP)
	for i := 0; i < 500 && !standing(pids); i++ {
		time.Sleep(10 * time.Millisecond)
	}
	if holds() {
		return true
	}
	signal(pids, syscall.SIGCONT)
	return false
}

// standing says whether no thread of the processes is at work: a system call that has begun goes on after SIGSTOP.
func standing(pids []int) bool {
	for _, pid := range pids {
		for _, file := range glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) {
			stat := cat(file)
			if state := stat[strings.LastIndexByte(stat, ')')+1:]; !strings.HasPrefix(state, " T") {
				return false
			}
		}
	}
	return true
}

// signal sends a signal to processes; one may have ended.
func signal(pids []int, s syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, s)
	}
}
