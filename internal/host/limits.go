package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

func readLimits(t Tree) Limits {
	limits := t.Text("/proc/self/limits")
	l := Limits{
		Affinity:    readAffinity(t),
		OpenFiles:   rlimit(limits, "Max open files", ""),
		LockedBytes: rlimit(limits, "Max locked memory", "B"),
	}
	c := readCgroups(t)
	if c.err != nil {
		l.CgroupV, l.Cgroup = Unknown[int](selfCgroup, c.err), Unknown[string](selfCgroup, c.err)
		l.CPUQuota, l.CPUSet = Unknown[float64](selfCgroup, c.err), Unknown[[]int](selfCgroup, c.err)
		l.MemoryMax = Unknown[int64](selfCgroup, c.err)
		return l
	}
	cpu, memory := c.view("cpu"), c.view("memory")
	l.CPUQuota, l.MemoryMax, l.CPUSet = cpu.cpuQuota(t), memory.memoryMax(t), c.view("cpuset").cpuset(t)
	// Version 1 puts a process into one group for each controller: name the one
	// that is not the root, since that is the one with limits.
	named := cpu
	if named.path == "" || named.path == "/" && memory.path != "" {
		named = memory
	}
	if named.version == 0 {
		const why = "no hierarchy has the controllers cpu and memory"
		l.CgroupV, l.Cgroup = absentFact[int](selfCgroup, why), absentFact[string](selfCgroup, why)
		return l
	}
	l.CgroupV, l.Cgroup = Known(named.version, "", selfCgroup), Known(named.path, "", selfCgroup)
	return l
}

func readAffinity(t Tree) Fact[[]int] {
	const file = "/proc/self/status"
	f := Convert(t.Text(file), "", func(s string) ([]int, error) {
		v, ok := lineOf(s, "Cpus_allowed_list:")
		if !ok {
			return nil, errors.New("no line Cpus_allowed_list")
		}
		return ParseList(v)
	})
	f.Source = file + " Cpus_allowed_list"
	return f
}

// rlimit reads a soft limit of /proc/self/limits, whose columns are separated by
// at least two blanks. The Go runtime raises the soft limit of open files to the
// hard one at start, so that is what hostlab itself has; a database's may differ.
// The library's reader needs the process's number in place of "self", which a
// recording does not have.
func rlimit(limits Fact[string], name, unit string) Fact[int64] {
	unlimited := false
	f := Convert(limits, unit, func(s string) (int64, error) {
		rest, ok := lineOf(s, name+"  ")
		if !ok {
			return 0, fmt.Errorf("no line %s", name)
		}
		soft, _, _ := strings.Cut(rest, " ")
		if unlimited = soft == "unlimited"; unlimited {
			return 0, nil
		}
		v, err := strconv.ParseInt(soft, 10, 64)
		if err != nil || v < 0 {
			return 0, fmt.Errorf("expected a number, found %s", clip(soft))
		}
		return v, nil
	})
	f.Source = limits.Source + " " + name
	if unlimited {
		return absentFact[int64](f.Source, "no limit")
	}
	return f
}

// lineOf returns what stands behind the beginning of a line.
func lineOf(text, beginning string) (rest string, ok bool) {
	for line := range strings.Lines(text) {
		if rest, ok = strings.CutPrefix(line, beginning); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}
