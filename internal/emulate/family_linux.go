package emulate

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// Processes are looked for when one was started anywhere, and now and then in any case,
// since one may have ended. Reading /proc takes milliseconds on a host of thousands, so
// that it may take a tenth of the time at most: a look is taken to cost twice what the one
// before did at most, as one that was kept from its CPU took longer without costing more.
const (
	rescan = time.Second
	patch  = 10
)

// family is the descendants of a process, but for this one and its own.
type family struct {
	root   int
	whole  bool // with root itself
	pids   []int
	held   []*proc.Held       // those of pids, which are signalled by this alone
	member map[int]*proc.Held // of all processes that were seen; nil: no member
	newest string             // process ID that the kernel gave last
	next   time.Time          // of a look in any case
	rest   time.Time          // no look before it
	cost   time.Duration      // of a look
}

// refresh looks for processes when it is time, and returns those that are known.
func (f *family) refresh() []int {
	now := time.Now()
	newest := newestPID()
	if now.Before(f.rest) || newest == f.newest && newest != "" && now.Before(f.next) {
		return f.pids
	}
	f.newest, f.next = newest, now.Add(rescan)
	f.look()
	f.spend(time.Since(now))
	f.rest = now.Add(patch * f.cost)
	return f.pids
}

// spend notes how long a look took.
func (f *family) spend(took time.Duration) {
	const least = 500 * time.Microsecond
	f.cost = min(took, 2*max(f.cost, least))
}

// newestPID is the last field of proc_loadavg(5), "" where it cannot be read.
func newestPID() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return string(b[bytes.LastIndexByte(b, ' ')+1:])
}

// look brings pids up to date. A process whose parent
// has ended is init's then, and stays a member. Each is held before its parent is read, so
// that a later process with its number is none.
func (f *family) look() {
	numbers, err := proc.Numbers()
	if err != nil {
		return
	}
	seen, fresh := map[int]*proc.Held{}, map[int]*proc.Held{}
	for _, pid := range numbers {
		if member, known := f.member[pid]; known && (member == nil || !member.Gone()) {
			seen[pid] = member
		} else if h, err := proc.Hold(pid); err == nil {
			fresh[pid] = h
		}
	}
	for grew := true; grew; {
		grew = false
		for pid, h := range fresh {
			if pid != os.Getpid() && (h.Parent == f.root || seen[h.Parent] != nil || f.whole && pid == f.root) {
				seen[pid], grew = h, true
				delete(fresh, pid)
			}
		}
	}
	for pid, h := range fresh {
		seen[pid] = nil
		h.Close()
	}
	for pid, h := range f.member {
		if h != nil && seen[pid] != h {
			h.Close()
		}
	}
	f.member, f.pids, f.held = seen, nil, nil
	for pid, h := range seen {
		if h != nil {
			f.pids, f.held = append(f.pids, pid), append(f.held, h)
		}
	}
}

// used is the time of each thread of the family.
func (f *family) used() map[int]use {
	out := map[int]use{}
	for _, pid := range f.refresh() {
		task := strconv.Itoa(pid) + "/task/"
		threads, err := os.ReadDir("/proc/" + task)
		if err != nil {
			continue // it has ended
		}
		for _, t := range threads {
			tid, _ := strconv.Atoi(t.Name())
			if ran, waited, err := proc.Schedstat(task + t.Name()); err == nil {
				out[tid] = use{ran, waited}
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
