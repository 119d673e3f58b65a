package proc

import (
	"slices"
)

// kthreadd is the parent of all threads of the kernel.
const kthreadd = 2

// GroupsOf are the control groups of a process but the root (cgroups(7)). First is that of version 2, or else of systemd's own tree, or of its
// CPU time. They differ where a runtime that knows version 1 alone moves it: in version 2 it stays in the runtime's group.
func GroupsOf(pid int) []string {
	list, _ := Memberships(pid)
	return groupsOf(list)
}

func groupsOf(list []Membership) []string {
	var all []string
	group := ""
	for _, m := range list {
		if m.Group == "/" {
			continue
		}
		if group == "" && (m.Has("cpu") || m.Has("cpuacct")) || m.Has("") || m.Has(Systemd) {
			group = m.Group
		}
		all = append(all, m.Group)
	}
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(g string) bool { return g == group })
	if group != "" {
		all = slices.Insert(all, 0, group)
	}
	return all
}
