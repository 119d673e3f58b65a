package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Loads reads what CPUs have done since boot, all with nil, from /proc/stat. Its
// clock ticks are 10 ms, so differences mean something from about a second on.
func Loads(cpus []int) (map[int]Load, bool) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, false
	}
	st, err := fs.Stat()
	if err != nil {
		return nil, false
	}
	out := map[int]Load{}
	for n, c := range st.CPU {
		if cpus == nil || slices.Contains(cpus, int(n)) {
			// Guest time is contained in User, guest nice in Nice.
			out[int(n)] = Load{Busy: c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ, Steal: c.Steal}
		}
	}
	return out, true
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

// family returns the CPU seconds of this process and of all that it started, also
// while they still run.
func family() float64 {
	// Those that run come first: one that ends in between is counted twice rather
	// than not at all, so that others are blamed for nothing.
	s := living(os.Getpid(), 0)
	return s + Own()
}

// deepest bounds the descent to children's children.
const deepest = 32

// living returns the CPU seconds of a process's descendants. Where the kernel does not
// list children, those that still run are not known.
func living(pid, depth int) (s float64) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || depth == deepest {
		return 0
	}
	for _, task := range tasks {
		list, _ := children(task)
		for _, child := range list {
			s += (child.CPU + child.Reaped).Seconds() + living(child.PID, depth+1)
		}
	}
	return s
}

// maxName is what the kernel keeps of a process's name (TASK_COMM_LEN less one).
const maxName = 15

// readOurs reads the times of all processes of some names, but not of those that
// Own counts: ourselves and what we started.
func readOurs(names []string) times {
	if len(names) == 0 {
		return nil
	}
	all := All()
	started := Below(all, os.Getpid())
	out := times{}
	for _, s := range all {
		named := slices.ContainsFunc(names, func(n string) bool { return n[:min(len(n), maxName)] == s.Name })
		if named && !slices.Contains(started, s) {
			out[identity{s.PID, s.Started}] = s
		}
	}
	return out
}
