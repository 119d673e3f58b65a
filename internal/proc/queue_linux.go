package proc

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Shares tells how the scheduler divides CPUs between two processes.
func Shares(pid, with int) Sharing {
	s := Sharing{Idle: true}
	if attr, err := unix.SchedGetAttr(pid, 0); err != nil || attr.Policy != unix.SCHED_IDLE {
		s.Idle = false
	}
	one, other := cpuGroup(pid), cpuGroup(with)
	enabled, _ := os.ReadFile("/proc/sys/kernel/sched_autogroup_enabled")
	session := func(pid int) string {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
		return string(b)
	}
	switch {
	case one == "" || other == "":
	case one != other:
		s.By = ByGroup
	case one == "/" && strings.TrimSpace(string(enabled)) == "1" && session(pid) != session(with): // sched(7), The autogroup feature
		s.By = BySession
	default:
		s.By = ByThread
	}
	return s
}

// cpuGroup is the control group whose weight counts for a process's share of the CPUs; "": not known. In version 2 it is the nearest one
// that has a weight.
func cpuGroup(pid int) string {
	list, _ := Memberships(pid)
	two := ""
	for _, m := range list {
		if m.Has("cpu") {
			return m.Group
		}
		if m.Has("") {
			two = m.Group
		}
	}
	for _, h := range Hierarchies() {
		if h.Controllers[0] != "" {
			continue
		}
		for ; two != "" && two != "/"; two = path.Dir(two) {
			dir := h.Dir(two)
			if _, err := os.Stat(filepath.Join(dir, "cpu.weight")); err == nil && dir != "" {
				return two
			}
		}
	}
	return two
}
