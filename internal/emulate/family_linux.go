package emulate

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Processes are looked for when one was started anywhere, and now and then in any case,
// since one may have ended. Reading /proc takes milliseconds on a host of thousands, so
// that it may take a tenth of the time at most.
const (
	rescan = time.Second
	patch  = 10
)

// family is the descendants of a process, but for this one and its own.
type family struct {
	root   int
	pids   []int
	member map[int]bool // of all processes that were seen
	newest string       // process ID that the kernel gave last
	next   time.Time    // of a look in any case
	rest   time.Time    // no look before it
	found  func(added []int)
}

// refresh looks for processes when it is time, and returns those that are known.
func (f *family) refresh() []int {
	now := time.Now()
	newest := newestPID()
	if now.Before(f.rest) || newest == f.newest && newest != "" && now.Before(f.next) {
		return f.pids
	}
	f.newest, f.next = newest, now.Add(rescan)
	if added := f.look(); f.found != nil && len(added) > 0 {
		f.found(added)
	}
	f.rest = now.Add(patch * time.Since(now))
	return f.pids
}

// newestPID is the last field of proc_loadavg(5), "" where it cannot be read.
func newestPID() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return string(b[bytes.LastIndexByte(b, ' ')+1:])
}

// look brings pids up to date and returns those that are new. A process whose parent
// has ended is init's then, and stays a member.
func (f *family) look() (added []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	seen, parents := map[int]bool{}, map[int]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if member, known := f.member[pid]; known {
			seen[pid] = member
		} else if parent, ok := parentOf(pid); ok {
			seen[pid], parents[pid] = false, parent
		}
	}
	for grew := true; grew; {
		grew = false
		for pid, parent := range parents {
			if !seen[pid] && pid != os.Getpid() && (parent == f.root || seen[parent]) {
				seen[pid], grew = true, true
				added = append(added, pid)
			}
		}
	}
	f.member, f.pids = seen, nil
	for pid, member := range seen {
		if member {
			f.pids = append(f.pids, pid)
		}
	}
	return added
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

// used is the time of each thread of the family.
func (f *family) used() map[int]use {
	out := map[int]use{}
	for _, pid := range f.refresh() {
		dir := filepath.Join("/proc", strconv.Itoa(pid), "task")
		threads, err := os.ReadDir(dir)
		if err != nil {
			continue // it has ended
		}
		for _, t := range threads {
			tid, _ := strconv.Atoi(t.Name())
			if u, ok := useOf(filepath.Join(dir, t.Name(), "schedstat")); ok {
				out[tid] = u
			}
		}
	}
	return out
}

// Reaped is the CPU time of this process's descendants that have ended and were waited
// for: getrusage(2).
func Reaped() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// useOf reads the first two fields of schedstat, ns: the time on a CPU and that ready
// for one (Documentation/scheduler/sched-stats.rst).
func useOf(path string) (u use, ok bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return u, false
	}
	f := bytes.Fields(b)
	if len(f) < 2 {
		return u, false
	}
	ran, err := strconv.ParseInt(string(f[0]), 10, 64)
	if err != nil {
		return u, false
	}
	waited, err := strconv.ParseInt(string(f[1]), 10, 64)
	return use{time.Duration(ran), time.Duration(waited)}, err == nil
}
