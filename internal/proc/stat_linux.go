package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Stat is what proc_pid_stat(5) says of a process first.
type Stat struct {
	PID, Parent, Group, Session int
	Name                        string // of its program, which may hold anything
	State                       byte
}

// Ended reports a process that only waits to be reaped, which an init of a container may
// never do.
func (s Stat) Ended() bool { return s.State == 'Z' || s.State == 'X' }

// Read reads the one of that number.
func Read(pid int) (s Stat, err error) { return read(strconv.Itoa(pid)) }

func read(pid string) (s Stat, err error) {
	name := "/proc/" + pid + "/stat"
	b, err := os.ReadFile(name)
	if err != nil {
		return s, err
	}
	// pid (comm) state ppid pgrp session
	open, shut := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || shut < open {
		return s, fmt.Errorf("%s: no name", name)
	}
	f := strings.Fields(string(b[shut+1:]))
	if len(f) < 4 {
		return s, fmt.Errorf("%s: %d fields", name, len(f))
	}
	s = Stat{Name: string(b[open+1 : shut]), State: f[0][0]}
	for i, to := range []*int{&s.PID, &s.Parent, &s.Group, &s.Session} {
		if *to, err = strconv.Atoi(append([]string{pid}, f[1:]...)[i]); err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s, nil
}

// Numbers lists all processes that /proc shows.
func Numbers() (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// All reads those that have not ended. Without /proc there are none.
func All() (all []Stat) {
	pids, _ := Numbers()
	for _, pid := range pids {
		if s, err := Read(pid); err == nil && !s.Ended() {
			all = append(all, s)
		}
	}
	return all
}

// Below picks from all those that descend from one of the roots, and the roots.
func Below(all []Stat, roots ...int) (below []Stat) {
	in := map[int]bool{}
	for _, pid := range roots {
		in[pid] = true
	}
	for grew := true; grew; {
		grew = false
		for _, s := range all {
			if !in[s.PID] && in[s.Parent] {
				in[s.PID], grew = true, true
			}
		}
	}
	for _, s := range all {
		if in[s.PID] {
			below = append(below, s)
		}
	}
	return below
}

// Children lists the children of this process that orphans become, and perhaps others of
// its own. Those that have ended are among them.
func Children() (list []Stat) {
	self := strconv.Itoa(os.Getpid())
	// Orphans go to the first thread that lives (find_new_reaper in kernel/exit.c), which is
	// the main one: Go never ends it. The file takes CONFIG_PROC_CHILDREN.
	b, err := os.ReadFile("/proc/self/task/" + self + "/children")
	if err == nil {
		for pid := range strings.FieldsSeq(string(b)) {
			if s, err := read(pid); err == nil {
				list = append(list, s)
			}
		}
		return list
	}
	pids, _ := Numbers()
	for _, pid := range pids {
		if s, err := Read(pid); err == nil && s.Parent == os.Getpid() {
			list = append(list, s)
		}
	}
	return list
}
