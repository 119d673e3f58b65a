package runner

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/workload"
)

// How long what a killed session has left gets to end by itself when it is asked
// to, and then for the kernel to take it away.
const (
	graceAsked  = 2 * time.Second
	graceKilled = 5 * time.Second
)

// leftover is a process that the workload of a session that was killed has left.
type leftover struct {
	pid, group int
	name       string
}

// endLeftovers ends what the workload of a session that was killed has left running:
// the kernel ends the program itself with us (PR_SET_PDEATHSIG in prctl(2)), and not
// what that had started. They are known by the mark in their environment, which has
// the directory work. A daemon, which has made a session of its own (setsid(2)), was
// meant to outlive the program and is left. It returns the names of what it ended.
func endLeftovers(work string) (names []string, err error) {
	left := leftovers(work)
	for _, p := range left {
		names = append(names, fmt.Sprintf("%s %d", p.name, p.pid))
	}
	for _, step := range []struct {
		signal unix.Signal
		grace  time.Duration
	}{{unix.SIGTERM, graceAsked}, {unix.SIGKILL, graceKilled}} {
		for end := time.Now().Add(step.grace); len(left) > 0 && time.Now().Before(end); left = leftovers(work) {
			for _, p := range left { // again and again: one may have started another meanwhile
				_ = unix.Kill(-p.group, step.signal)
				_ = unix.Kill(-p.group, unix.SIGCONT) // those that are stopped would not see it
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("%s %d, which the workload of a killed session has left, does not end; runs beside it would be worth nothing: end it, then resume", left[0].name, left[0].pid)
	}
	return names, nil
}

// leftovers finds processes with the mark of work. Those of other users cannot be
// read, and are none of ours.
func leftovers(work string) (list []leftover) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	ours := unix.Getpgrp()
	parents := map[int]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		// pid (comm) state ppid pgrp session: proc_pid_stat(5); comm may hold anything.
		open, shut := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		if open < 0 || shut < open {
			continue
		}
		f := strings.Fields(string(stat[shut+1:]))
		if len(f) < 4 {
			continue
		}
		parents[pid], _ = strconv.Atoi(f[1])
		group, _ := strconv.Atoi(f[2])
		if f[0] == "Z" || f[0] == "X" || group <= 1 || group == ours {
			continue
		}
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil {
			continue
		}
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if session, ok := workload.Marked(string(v), work); ok && strconv.Itoa(session) == f[3] {
				list = append(list, leftover{pid, group, string(stat[open+1 : shut])})
			}
		}
	}
	return slices.DeleteFunc(list, func(p leftover) bool { return descends(p.pid, os.Getpid(), parents) })
}

// descends reports whether a process is from, or was started by it or by what it
// had started.
func descends(pid, from int, parents map[int]int) bool {
	for range len(parents) {
		if pid == from {
			return true
		}
		if pid = parents[pid]; pid <= 1 {
			return false
		}
	}
	return false
}
