package emulate

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// rescan is how often new processes are looked for. Reading all of /proc every sample
// would take a tenth of a CPU on a busy host.
const rescan = 200 * time.Millisecond

// family is the descendants of a process, but for this one.
type family struct {
	root  int
	pids  []int
	next  time.Time
	found func(added []int) // nil, or told of new ones
}

// refresh looks for processes when it is time, and returns those that are known.
func (f *family) refresh() []int {
	if now := time.Now(); !now.Before(f.next) {
		f.next = now.Add(rescan)
		before := map[int]bool{}
		for _, p := range f.pids {
			before[p] = true
		}
		f.pids = descendants(f.root, os.Getpid())
		var added []int
		for _, p := range f.pids {
			if !before[p] {
				added = append(added, p)
			}
		}
		if f.found != nil && len(added) > 0 {
			f.found(added)
		}
	}
	return f.pids
}

// descendants are the processes below root, but for one and what that has started.
func descendants(root, but int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, ok := parentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	var out []int
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, c := range children[queue[0]] {
			if c != but {
				out = append(out, c)
				queue = append(queue, c)
			}
		}
	}
	return out
}

// parentOf reads the fourth field of proc_pid_stat(5); the second may hold anything.
func parentOf(pid int) (int, bool) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	shut := bytes.LastIndexByte(b, ')')
	if err != nil || shut < 0 {
		return 0, false
	}
	fields := bytes.Fields(b[shut+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}

// used is the CPU time of each thread of the family.
func (f *family) used() map[int]time.Duration {
	out := map[int]time.Duration{}
	for _, pid := range f.refresh() {
		dir := filepath.Join("/proc", strconv.Itoa(pid), "task")
		threads, err := os.ReadDir(dir)
		if err != nil {
			continue // it has ended
		}
		for _, t := range threads {
			tid, _ := strconv.Atoi(t.Name())
			if ns, ok := ranFor(filepath.Join(dir, t.Name(), "schedstat")); ok {
				out[tid] = ns
			}
		}
	}
	return out
}

// ranFor reads the time on a CPU, ns, the first field of schedstat.
func ranFor(path string) (time.Duration, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	first, _, _ := bytes.Cut(b, []byte(" "))
	ns, err := strconv.ParseInt(string(bytes.TrimSpace(first)), 10, 64)
	return time.Duration(ns), err == nil
}
