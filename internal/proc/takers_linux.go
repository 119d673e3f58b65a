package proc

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// kthreadd is the parent of all threads of the kernel.
const kthreadd = 2

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
	for line := range strings.Lines(lines) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) < 3 || f[2] == "/" {
			continue
		}
		if group == "" && strings.Contains(f[1], "cpu") || f[1] == "" || f[1] == Systemd {
			group = f[2]
		}
		all = append(all, f[2])
	}
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(g string) bool { return g == group })
	if group != "" {
		all = slices.Insert(all, 0, group)
	}
	return all
}
