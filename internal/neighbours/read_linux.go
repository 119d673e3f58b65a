package neighbours

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// Read reads what CPUs have done since boot, all with nil, from /proc/stat. Its
// clock ticks are 10 ms, so differences mean something from about a second on.
func Read(cpus []int) (map[int]Load, bool) {
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

// process identifies a process also where its number is used again.
type process struct {
	pid   int
	start uint64 // in clock ticks since boot
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
	s := living("self", 0)
	return s + Own()
}

// deepest bounds the descent to children's children.
const deepest = 32

// living returns the CPU seconds of a process's descendants. The kernel lists them
// with CONFIG_PROC_CHILDREN (Linux 3.5), as distributions have it; without, those
// that still run are not known.
func living(pid string, depth int) (s float64) {
	lists, err := filepath.Glob("/proc/" + pid + "/task/*/children")
	if err != nil || depth == deepest {
		return 0
	}
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for child := range bytes.FieldsSeq(b) {
			if _, st, ok := readProcess(string(child)); ok {
				s += st.own + st.children + living(string(child), depth+1)
			}
		}
	}
	return s
}

// readProcess reads /proc/PID/stat.
func readProcess(pid string) (name string, s spent, ok bool) {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return "", s, false
	}
	name, _, s, ok = stat(n)
	return name, s, ok
}

func stat(pid int) (name string, p process, s spent, ok bool) {
	of, err := procfs.NewProc(pid)
	if err != nil {
		return "", p, s, false
	}
	st, err := of.Stat()
	if err != nil {
		return "", p, s, false
	}
	return st.Comm, process{pid, st.Starttime}, spent{
		parent:   st.PPID,
		own:      float64(st.UTime+st.STime) / proc.UserHZ,
		children: float64(st.CUTime+st.CSTime) / proc.UserHZ,
	}, true
}

// maxName is what the kernel keeps of a process's name (TASK_COMM_LEN less one).
const maxName = 15

// readOurs reads the times of all processes of some names, but not of those that
// Own counts: ourselves and what we started.
func readOurs(names []string) times {
	if len(names) == 0 {
		return nil
	}
	procs, err := procfs.AllProcs()
	if err != nil {
		return nil
	}
	self := os.Getpid()
	parent := map[int]int{}
	out := times{}
	for _, proc := range procs {
		name, p, s, ok := stat(proc.PID)
		if !ok {
			continue
		}
		parent[p.pid] = s.parent
		if slices.ContainsFunc(names, func(n string) bool { return n[:min(len(n), maxName)] == name }) {
			out[p] = s
		}
	}
	for p := range out {
		for up, depth := p.pid, 0; up > 1 && depth < deepest; up, depth = parent[up], depth+1 {
			if up == self {
				delete(out, p)
				break
			}
		}
	}
	return out
}
