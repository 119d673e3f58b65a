package proc

import (
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Loads reads what CPUs have done since boot, all with nil, from /proc/stat. Its
// clock ticks are 10 ms, so differences mean something from about a second on.
func Loads(cpus []int) (map[int]Load, bool) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, false
	}
	all, err := ParseCPUs(b)
	if err != nil {
		return nil, false
	}
	out := map[int]Load{}
	for _, c := range all {
		if cpus == nil || slices.Contains(cpus, c.ID) {
			out[c.ID] = Load{Busy: c.Busy(), Steal: c.Steal}
		}
	}
	return out, len(out) > 0 // a container may mask the file
}

// Own returns the CPU seconds of this process and of its ended children.
func Own() (s float64) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var ru unix.Rusage
		if unix.Getrusage(who, &ru) == nil {
			s += float64(ru.Utime.Nano()+ru.Stime.Nano()) / 1e9
		}
	}
	return s
}

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
	case one == "/" && strings.TrimSpace(string(enabled)) == "1" && session(pid) != "" && session(pid) != session(with): // sched(7), The autogroup feature: not of the kernel
		s.By = BySession
	default:
		s.By = ByThread
	}
	return s
}

// cpuGroup is the control group whose weight counts for a process's share of the CPUs; "": not known. In version 2 it
// is the nearest one that has a weight.
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

// kthreadd is the parent of all threads of the kernel.
const kthreadd = 2

// GroupsOf are the control groups of a process but the root (cgroups(7)). First is that of version 2, or else of
// systemd's own tree, or of its CPU time. They differ where a runtime that knows version 1 alone moves it: in version
// 2 it stays in the runtime's group.
func GroupsOf(pid int) []string {
	list, _ := Memberships(pid)
	return groupsOf(list)
}

func groupsOf(list []Membership) []string {
	var all []string
	group := ""
	for _, m := range list {
		if m.Group == "/" {
			continue
		}
		if group == "" && (m.Has("cpu") || m.Has("cpuacct")) || m.Has("") || m.Has(Systemd) {
			group = m.Group
		}
		all = append(all, m.Group)
	}
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(g string) bool { return g == group })
	if group != "" {
		all = slices.Insert(all, 0, group)
	}
	return all
}

// Pauses looks at clocks as long as a session lasts.
type Pauses struct{ ask chan chan Pause }

// WatchPauses starts one. Its thread is its own, so that what the kernel counts as the
// thread's wait for a CPU is that of the watch.
func WatchPauses() *Pauses {
	w := &Pauses{ask: make(chan chan Pause)}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	go func() {
		defer signal.Stop(continued)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		ticker := time.NewTicker(pauseTick)
		defer ticker.Stop()
		var sum Pause
		last := lookAtClocks()
		for {
			var answer chan Pause
			var open bool
			select {
			case <-ticker.C:
			case answer, open = <-w.ask:
				if !open {
					return
				}
			}
			now := lookAtClocks()
			p := gap(last, now, pauseTick, arrives(continued, now.monotonic-last.monotonic >= 2*pauseTick))
			sum.Stopped, sum.Suspended, last = sum.Stopped+p.Stopped, sum.Suspended+p.Suspended, now
			if answer != nil {
				answer <- sum
			}
		}
	}()
	return w
}

// arrives reports whether a signal has come since the last look. Where the look is late, the
// signal may be on its way through the runtime.
func arrives(c <-chan os.Signal, late bool) bool {
	wait := time.Duration(0)
	if late {
		wait = pauseTick / 2
	}
	select {
	case <-c:
		return true
	case <-time.After(wait):
		return false
	}
}

// Sum is how long hostlab did not run since the watch began.
func (w *Pauses) Sum() Pause {
	if w == nil {
		return Pause{}
	}
	answer := make(chan Pause, 1)
	w.ask <- answer
	return <-answer
}

// Close ends the watch.
func (w *Pauses) Close() {
	if w != nil {
		close(w.ask)
	}
}

// lookAtClocks reads each clock; one that the kernel does not keep stays 0.
func lookAtClocks() (m moment) {
	m.monotonic, _ = clock(unix.CLOCK_MONOTONIC)
	m.boot, _ = clock(unix.CLOCK_BOOTTIME)
	m.cpu, _ = clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	_, m.waited, _ = Schedstat("thread-self")
	return m
}
