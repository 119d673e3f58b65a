package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Find finds a service by its name: pid:N, cgroup:PATH or unit:NAME.
func Find(name string) (Target, error) {
	kind, what, ok := strings.Cut(name, ":")
	if ok && what != "" {
		switch kind {
		case "pid":
			return findProcess(name, what)
		case "cgroup":
			return findCgroup(name, what)
		case "unit":
			return findUnit(name, what)
		}
	}
	return Target{}, fmt.Errorf("%s: expected pid:N, cgroup:PATH or unit:NAME", name)
}

func findProcess(name, what string) (Target, error) {
	pid, err := strconv.Atoi(what)
	if err != nil || pid < 1 {
		return Target{}, fmt.Errorf("%s: %s is no process number", name, what)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
		return Target{}, fmt.Errorf("%s: there is no such process", name)
	}
	return Target{Name: name, PIDs: []int{pid}}, nil
}

// cgroupRoots are where hierarchies are mounted (cgroups(7)): version 2 alone or beside version 1, then
// those of controllers.
var cgroupRoots = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/memory"}

func findCgroup(name, path string) (Target, error) {
	for _, root := range cgroupRoots {
		dir := filepath.Join(root, path)
		if strings.HasPrefix(filepath.Clean(path), "/sys/fs/cgroup/") {
			dir = filepath.Clean(path)
		}
		if _, err := os.Stat(dir + "/cgroup.procs"); err == nil {
			return Target{Name: name, Cgroups: []string{dir}}, nil
		}
	}
	return Target{}, fmt.Errorf("%s: no such cgroup below /sys/fs/cgroup", name)
}

// findUnit finds the cgroup that systemd made for a unit. Where its hierarchy has no controller, as version 1
// mounts one for systemd, the unit is its processes.
func findUnit(name, unit string) (Target, error) {
	if !strings.Contains(unit, ".") {
		unit += ".service"
	}
	for _, root := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/systemd"} {
		dir := named(root, unit)
		if dir == "" {
			continue
		}
		if root != "/sys/fs/cgroup/systemd" {
			return Target{Name: name, Cgroups: []string{dir}}, nil
		}
		if pids := members([]string{dir}); len(pids) > 0 {
			return Target{Name: name, PIDs: pids}, nil
		}
	}
	return Target{}, fmt.Errorf("%s: systemd runs no such unit here; name its process (pid:N) or its cgroup", name)
}

// named is the directory of a hierarchy that is called so; "" without. Those of controllers are
// mounts of their own, which may hold a unit's group without its processes.
func named(root, unit string) (found string) {
	if _, err := os.Stat(root + "/cgroup.procs"); err != nil {
		return ""
	}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil //nolint:nilerr // what cannot be read holds no unit of ours
		}
		if d.Name() == unit {
			found = path
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// members are the processes of cgroups and of those below them.
func members(dirs []string) (pids []int) {
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil //nolint:nilerr // it has been removed meanwhile
			}
			b, err := os.ReadFile(path + "/cgroup.procs")
			// A threaded cgroup of version 2 lists no processes but those of its root (cgroup-v2.rst).
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			for f := range strings.FieldsSeq(string(b)) {
				if pid, err := strconv.Atoi(f); err == nil {
					pids = append(pids, pid)
				}
			}
			return nil
		})
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// family are the processes with all their descendants that /proc shows.
func family(roots []int) (all []int) {
	children := map[int][]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if parent, ok := parentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	seen := map[int]bool{}
	for queue := slices.Clone(roots); len(queue) > 0; queue = queue[1:] {
		if p := queue[0]; !seen[p] {
			seen[p] = true
			all = append(all, p)
			queue = append(queue, children[p]...)
		}
	}
	return all
}

func parentOf(pid int) (int, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// The name may hold blanks and brackets (proc_pid_stat(5)).
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(f[1])
	return parent, err == nil
}
