package proc

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
)

// Hierarchy is a mounted tree of control groups. In version 1 each controller has a tree of
// its own, in version 2 all have one (cgroups(7)).
type Hierarchy struct {
	Controllers []string // of version 1; {""} for version 2
	Mount       string
	root        string // group that lies there
}

// controllers are all of version 1 (kernel/cgroup), and systemd's own tree.
var controllers = []string{"cpu", "cpuacct", "cpuset", "memory", "pids", "blkio", "devices", "freezer", "net_cls",
	"net_prio",
	"perf_event", "hugetlb", "rdma", "misc",
	Systemd}

// Systemd is what stands for a controller in the tree that has none.
const Systemd = "name=systemd"

// Hierarchies are those that are mounted here.
func Hierarchies() (all []Hierarchy) {
	mounts, err := procfs.GetMounts()
	if err != nil {
		return nil
	}
	for _, m := range mounts {
		h := Hierarchy{Mount: m.MountPoint, root: m.Root}
		switch m.FSType {
		case "cgroup2":
			h.Controllers = []string{""}
		case "cgroup":
			for option, value := range m.SuperOptions {
				if value != "" {
					option += "=" + value
				}
				if slices.Contains(controllers, option) {
					h.Controllers = append(h.Controllers, option)
				}
			}
		}
		if len(h.Controllers) > 0 {
			slices.Sort(h.Controllers)
			all = append(all, h)
		}
	}
	return all
}

// Dir is where a group lies; "" where this mount does not show it.
func (h Hierarchy) Dir(group string) string {
	rest, ok := strings.CutPrefix(path.Clean("/"+group), strings.TrimSuffix(h.root, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return ""
	}
	return filepath.Join(h.Mount, rest)
}

// Group is the group that lies in a directory; "" where that is elsewhere.
func (h Hierarchy) Group(dir string) string {
	rest, ok := strings.CutPrefix(dir+"/", strings.TrimSuffix(h.Mount, "/")+"/")
	if !ok {
		return ""
	}
	return path.Join("/", h.root, rest)
}
