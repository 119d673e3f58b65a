package proc

import (
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
)

// kthreadd is the parent of all threads of the kernel.
const kthreadd = 2

// memberships are the lines of /proc/PID/cgroup: the controllers of a hierarchy, with commas between them, and the group there.
func memberships(lines string) iter.Seq2[string, string] {
	return func(yield func(controllers, group string) bool) {
		for line := range strings.Lines(lines) {
			f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
			if len(f) == 3 && !yield(f[1], f[2]) {
				return
			}
		}
	}
}

// GroupsOf are the control groups of a process but the root (cgroups(7)). First is that of version 2, or else of systemd's own tree, or of its
// CPU time. They differ where a runtime that knows version 1 alone moves it: in version 2 it stays in the runtime's group.
func GroupsOf(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return nil
	}
	return groupsOf(string(b))
}

func groupsOf(lines string) []string {
	var all []string
	group := ""
	for controllers, at := range memberships(lines) {
		if at == "/" {
			continue
		}
		if group == "" && strings.Contains(controllers, "cpu") || controllers == "" || controllers == Systemd {
			group = at
		}
		all = append(all, at)
	}
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(g string) bool { return g == group })
	if group != "" {
		all = slices.Insert(all, 0, group)
	}
	return all
}
