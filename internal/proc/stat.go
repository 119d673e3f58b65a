// Package proc finds processes and signals them. The kernel gives the number of a process
// that has ended to another one, so nothing is signalled by its number: a process is held
// first (pidfd_open(2)), looked at then, and signalled by what is held. If it ended
// meanwhile the signal goes nowhere, whatever has its number.
//
// It takes Linux; on other systems there are no processes to be seen.
//
// It also tells how much of the CPUs others take while we measure: other processes, and
// the hypervisor where it says so; and for how long this process did not run at all, as it
// was stopped or the machine suspended.
package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Tick is the unit of times in /proc/stat and /proc/PID/stat: USER_HZ is 100 on every
// architecture that Go runs on (asm-generic/param.h).
const Tick = 10 * time.Millisecond

// Stat is what proc_pid_stat(5) says of a process, or Windows. Times are counted in ticks.
type Stat struct {
	PID, Parent, Group, Session int
	Name                        string // of its program, which may hold anything
	State                       byte
	CPU                         time.Duration // that it has used
	Reaped                      time.Duration // that children had used which ended and were waited for
	Faults                      int64         // page faults of those
	Threads                     int           // that have not been reaped; 0: not known
	// a time that tells it from a later process of its number: in ticks, on Windows in 100 ns
	Started int64
}

// Identity tells a process from a later one of its number.
type Identity struct {
	PID     int
	Started int64
}

func (s Stat) Identity() Identity { return Identity{s.PID, s.Started} }

// Ended reports a process that only waits to be reaped, which an init of a container may
// never do.
func (s Stat) Ended() bool { return s.State == 'Z' || s.State == 'X' }

// Schedstat reads how long a thread, "self/task/7" or "7", or the main thread of a process
// has been on a CPU and ready for one (Documentation/scheduler/sched-stats.rst). Not every
// kernel counts.
func Schedstat(of string) (ran, waited time.Duration, err error) {
	name := "/proc/" + of + "/schedstat"
	b, err := line(name)
	if err != nil {
		return 0, 0, err
	}
	return schedstat(name, b)
}

func schedstat(name, text string) (ran, waited time.Duration, err error) {
	f := strings.Fields(text)
	if len(f) < 2 {
		return 0, 0, fmt.Errorf("%s: %d fields", name, len(f))
	}
	on, err1 := strconv.ParseInt(f[0], 10, 64)
	ready, err2 := strconv.ParseInt(f[1], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", name, err)
	}
	return time.Duration(on), time.Duration(ready), nil
}

// Keyed reads a flat keyed file of a control group, as cpu.stat (cgroup-v2.rst; sched-bwc.rst
// for version 1).
func Keyed(file string) (map[string]int64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			out[name] = n
		}
	}
	return out, nil
}

// Throttled is for how long a quota has kept CPUs from a control group, over all CPUs, by its
// cpu.stat: throttled_time in ns in version 1 (sched-bwc.rst), throttled_usec in version 2
// (cgroup-v2.rst).
func Throttled(stat map[string]int64) (time.Duration, bool) {
	ns, v1 := stat["throttled_time"]
	us, v2 := stat["throttled_usec"]
	return time.Duration(ns + 1000*us), v1 || v2
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

// recent is how old a list of processes may be of which only time is counted, or who descends from whom. To list
// hundreds takes milliseconds, and one stretch of a watch ends where the next begins.
const recent = time.Second / 2

var listed struct {
	sync.Mutex
	at   time.Time
	took time.Duration
	all  []Stat
}

// Recent are those that All lists, or has listed just now, and what that took. Nobody may change them.
func Recent() ([]Stat, time.Duration) {
	l := &listed
	l.Lock()
	defer l.Unlock()
	if began := time.Now(); began.Sub(l.at) > recent {
		l.at, l.all = began, All()
		l.took = time.Since(began)
	}
	return l.all, l.took
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

// longLine is what is read of a line: of /proc/PID/stat the first 22 numbers and the name of 64 bytes at most are less.
const longLine = 512

// children lists the children of a thread, as far as the kernel tells (CONFIG_PROC_CHILDREN).
func children(task string) (list []Stat, err error) {
	b, err := line(task + "/children")
	if len(b) >= longLine { // it has many
		all, e := os.ReadFile(task + "/children")
		b, err = string(all), e
	}
	for text := range strings.FieldsSeq(b) {
		pid, _ := strconv.Atoi(text)
		if s, err := Read(pid); err == nil {
			list = append(list, s)
		}
	}
	return list, err
}

// deepest bounds the descent to children's children, and the way up to an ancestor.
const deepest = 32

// heir is the nearest ancestor that lives of a process that has ended: what that had used until then is counted with it,
// as it waited for it. The system's first process adopts orphans. 0: none is seen.
func heir(parent int, parents map[int]int, lives func(pid int) bool) int {
	for range deepest {
		if lives(parent) {
			return parent
		}
		parent = max(parents[parent], 1)
	}
	return 0
}

// descendants lists what descends from a process. Its error is of a kernel that does not list children.
func descendants(root int) (list []Stat, err error) {
	level := []Stat{{PID: root}}
	for range deepest {
		var next []Stat
		for _, s := range level {
			tasks := []string{fmt.Sprintf("/proc/%[1]d/task/%[1]d", s.PID)}
			if s.Threads != 1 { // to list one takes longer than to ask it
				tasks, _ = filepath.Glob(fmt.Sprintf("/proc/%d/task/*", s.PID))
			}
			for _, task := range tasks {
				below, e := children(task)
				if next = append(next, below...); s.PID == root {
					err = cmp.Or(err, e)
				}
			}
		}
		level = next
		list = append(list, level...)
	}
	return list, err
}

// Family is a process and all that descends from it.
func Family(root int) []int {
	pids := []int{root}
	for _, s := range Descendants(root) {
		pids = append(pids, s.PID)
	}
	return pids
}

// Descendants are all that descends from a process, of those that were listed just now, if any were.
func Descendants(root int) []Stat {
	is := func(s Stat) bool { return s.PID == root }
	listed.Lock()
	all, at := listed.all, listed.at
	listed.Unlock()
	if time.Since(at) <= recent && slices.ContainsFunc(all, is) { // else it has just begun
		return slices.DeleteFunc(Below(all, root), is)
	}
	list, err := descendants(root)
	if errors.Is(err, fs.ErrNotExist) {
		list = Below(All(), root)
	}
	return slices.DeleteFunc(list, is)
}

// Children lists the children of this process that orphans become, and perhaps others of
// its own. Those that have ended are among them.
func Children() (list []Stat) {
	// Orphans go to the first thread that lives (find_new_reaper in kernel/exit.c), which is
	// the main one: Go never ends it.
	list, err := children("/proc/self/task/" + strconv.Itoa(os.Getpid()))
	if err == nil {
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

// Sleep waits until the time is over or ctx ends, and returns ctx's error.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}
