//go:build linux

package service

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// group is a control group. In version 1 each controller has a tree of its own, in version
// 2 all have one (cgroups(7)).
type group struct {
	path string            // below the root of the tree
	dirs map[string]string // by controller: where it lies; "" is version 2
}

// hierarchy is a mounted tree of control groups.
type hierarchy struct {
	controllers []string // of version 1; {""} for version 2
	mount, root string
}

// controllers of version 1 that count what is asked here, and systemd's own tree.
var controllers = []string{"cpu", "cpuacct", "memory", "name=systemd"}

func hierarchies() (all []hierarchy) {
	mounts, err := procfs.GetMounts()
	if err != nil {
		return nil
	}
	for _, m := range mounts {
		h := hierarchy{mount: m.MountPoint, root: m.Root}
		switch m.FSType {
		case "cgroup2":
			h.controllers = []string{""}
		case "cgroup":
			for option, value := range m.SuperOptions {
				if value != "" {
					option += "=" + value
				}
				if slices.Contains(controllers, option) {
					h.controllers = append(h.controllers, option)
				}
			}
		}
		if len(h.controllers) > 0 {
			all = append(all, h)
		}
	}
	return all
}

// dir is where a group lies; "" where this mount does not show it.
func (h hierarchy) dir(at string) string {
	rest, ok := strings.CutPrefix(path.Clean("/"+at), strings.TrimSuffix(h.root, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return ""
	}
	return filepath.Join(h.mount, rest)
}

// groupAt finds a group by its path below the root, or by where it lies.
func groupAt(at string) (*group, error) {
	all := hierarchies()
	for _, h := range all { // /sys/fs/cgroup/system.slice/x is /system.slice/x
		if rest, ok := strings.CutPrefix(at, strings.TrimSuffix(h.mount, "/")+"/"); ok {
			at = path.Join(h.root, rest)
			break
		}
	}
	g := &group{path: path.Clean("/" + at), dirs: map[string]string{}}
	for _, h := range all {
		dir := h.dir(g.path)
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); dir == "" || err != nil {
			continue
		}
		for _, c := range h.controllers {
			g.dirs[c] = dir
		}
	}
	if len(g.dirs) == 0 {
		return nil, fmt.Errorf("no control group %s is here", g.path)
	}
	if g.path == "/" {
		return nil, errors.New("the control group / is the whole host; name one below it")
	}
	return g, nil
}

// pathsOf are the groups in which a process is.
func pathsOf(pid int) (paths []string) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return nil
	}
	groups, err := p.Cgroups()
	if err != nil {
		return nil
	}
	for _, g := range groups {
		if g.HierarchyID == 0 || slices.ContainsFunc(g.Controllers, func(c string) bool { return slices.Contains(controllers, c) }) {
			paths = append(paths, g.Path)
		}
	}
	return paths
}

// groupOf is the group that limits a process' CPU time; nil where it is in the root.
func groupOf(pid int) *group {
	for _, at := range pathsOf(pid) {
		if g, err := groupAt(at); err == nil && g.has("cpu") {
			return g
		}
	}
	return nil
}

// file is a file of a controller, by its name in version 1 and in version 2.
func (g *group) file(controller, v1, v2 string) string {
	if dir, ok := g.dirs[controller]; ok && v1 != "" {
		return filepath.Join(dir, v1)
	}
	if dir, ok := g.dirs[""]; ok && v2 != "" {
		return filepath.Join(dir, v2)
	}
	return ""
}

func (g *group) has(controller string) bool {
	_, v1 := g.dirs[controller]
	_, v2 := g.dirs[""]
	return v1 || v2
}

// dir is where the group lies in one of its trees, that of a controller before systemd's own.
func (g *group) dir() string {
	return cmp.Or(g.controlled(), g.dirs["name=systemd"])
}

// controlled is where it lies in the tree of a controller; "" where only systemd has it.
func (g *group) controlled() string {
	for _, c := range []string{"", "cpu", "cpuacct", "memory"} {
		if dir := g.dirs[c]; dir != "" {
			return dir
		}
	}
	return ""
}

// most is how many groups below one are read: a host of containers has thousands.
const most = 10000

// processes are the numbers of those in a group and in all below it.
func (g *group) processes() (pids []int) {
	seen := 0
	_ = filepath.WalkDir(g.dir(), func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil //nolint:nilerr // a group may end while it is read
		}
		if seen++; seen > most {
			return fs.SkipAll
		}
		b, _ := os.ReadFile(filepath.Join(at, "cgroup.procs"))
		for f := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	slices.Sort(pids)
	return slices.Compact(pids)
}

func (g *group) first() int {
	if pids := g.processes(); len(pids) > 0 {
		return pids[0]
	}
	return 0
}

// limited is the group itself or the nearest one around it that has a CPU quota.
func (g *group) limited() *group {
	for at := g.path; at != "/" && at != "."; at = path.Dir(at) {
		if x, err := groupAt(at); err == nil && x.hasQuota() {
			return x
		}
	}
	return nil
}

func (g *group) hasQuota() bool {
	b, err := os.ReadFile(g.file("cpu", "cpu.cfs_quota_us", "cpu.max"))
	f := strings.Fields(string(b))
	return err == nil && len(f) > 0 && f[0] != "max" && f[0] != "-1"
}

// used is the CPU time of all that is and was in the group, s.
func (g *group) used() (float64, bool) {
	if file := g.file("cpuacct", "cpuacct.usage", ""); file != "" {
		b, err := os.ReadFile(file)
		ns, err2 := strconv.ParseFloat(strings.TrimSpace(string(b)), 64)
		return ns / 1e9, err == nil && err2 == nil
	}
	us, ok := stat(g.file("", "", "cpu.stat"), "usage_usec")
	return us / 1e6, ok
}

// throttled is for how long a quota has kept CPUs from the group, over all CPUs, s
// (Documentation/scheduler/sched-bwc.rst).
func (g *group) throttled() (float64, bool) {
	if ns, ok := stat(g.file("cpu", "cpu.stat", ""), "throttled_time"); ok {
		return ns / 1e9, true
	}
	us, ok := stat(g.file("", "", "cpu.stat"), "throttled_usec")
	return us / 1e6, ok
}

// stat is one value of a flat keyed file.
func stat(file, name string) (float64, bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			v, err := strconv.ParseFloat(f[1], 64)
			return v, err == nil
		}
	}
	return 0, false
}
