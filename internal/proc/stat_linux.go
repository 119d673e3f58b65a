package proc

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Read reads the one of that number.
func Read(pid int) (s Stat, err error) {
	name := fmt.Sprintf("/proc/%d/stat", pid)
	b, err := line(name)
	if err != nil {
		return s, err
	}
	// pid (comm) state ppid pgrp session ...
	open, shut := strings.IndexByte(b, '('), strings.LastIndexByte(b, ')')
	if open < 0 || shut < open {
		return s, fmt.Errorf("%s: no name", name)
	}
	f := strings.Fields(b[shut+1:]) // from the third field, the state, on
	if len(f) < 20 {
		return s, fmt.Errorf("%s: %d fields", name, len(f))
	}
	var n [20]int64
	for i := range n[1:] {
		if n[i+1], err = strconv.ParseInt(f[i+1], 10, 64); err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
	}
	return Stat{PID: pid, Parent: int(n[1]), Group: int(n[2]), Session: int(n[3]), Name: b[open+1 : shut], State: f[0][0],
		Faults: n[8] + n[10], Threads: int(n[17]),
		CPU: time.Duration(n[11]+n[12]) * Tick, Reaped: time.Duration(n[13]+n[14]) * Tick, Started: n[19]}, nil
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
