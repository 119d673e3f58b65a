package service

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/proc"
)

// group is a control group. In version 1 each controller has a tree of its own, in version
// 2 all have one (cgroups(7)).
type group struct {
	path string            // below the root of the tree
	dirs map[string]string // by controller: where it lies; "" is version 2
}

// controllers of version 1 that count what is asked here, and systemd's own tree.
var controllers = []string{"cpu", "cpuacct", "memory", proc.Systemd}

// groupAt finds a group by its path below the root, or by where it lies.
func groupAt(at string) (*group, error) {
	g, err := findGroup(at)
	if err == nil && g.path == "/" {
		return nil, errors.New("the control group / is the whole host; name one below it")
	}
	return g, err
}

// findGroup finds the root, too: in a container it may be a group of the host with limits.
func findGroup(at string) (*group, error) { return groupIn(proc.Hierarchies(), at) }

func groupIn(all []proc.Hierarchy, at string) (*group, error) {
	for _, h := range all { // /sys/fs/cgroup/system.slice/x is /system.slice/x
		if group := h.Group(at); group != "" {
			at = group
			break
		}
	}
	g := &group{path: path.Clean("/" + at), dirs: map[string]string{}}
	for _, h := range all {
		dir := h.Dir(g.path)
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); dir == "" || err != nil {
			continue
		}
		for _, c := range h.Controllers {
			g.dirs[c] = dir
		}
	}
	if len(g.dirs) == 0 {
		return nil, fmt.Errorf("no control group %s is here", g.path)
	}
	return g, nil
}

// pathsOf are the groups of controllers in which a process is, that of version 2 last.
func pathsOf(pid int, of ...string) (paths []string) {
	groups, _ := proc.Memberships(pid)
	for _, g := range groups {
		if g.Has("") || slices.ContainsFunc(of, g.Has) {
			paths = append(paths, g.Group)
		}
	}
	return paths
}

// limiting are the groups that limit a process in what a controller counts: its own, and those around it.
func limiting(pid int, controller string) []*group {
	for _, at := range pathsOf(pid, controller) {
		if g, err := findGroup(at); err == nil && g.has(controller) {
			return g.around()
		}
	}
	return nil
}

// CPUSets are the files that keep it from some of so many CPUs, from the outermost group's on: cpusets of control groups
// around it.
func (s *Service) CPUSets(cpus int) (files []string) {
	for _, g := range limiting(s.PID, "cpuset") {
		file := g.file("cpuset", "cpuset.cpus", "cpuset.cpus")
		b, err := os.ReadFile(file)
		if list, bad := host.ParseList(strings.TrimSpace(string(b))); err == nil && bad == nil && len(list) > 0 && len(list) < cpus {
			files = append(files, file) // of version 2, one that is empty takes what the group around it has
		}
	}
	slices.Reverse(files)
	return files
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
	return cmp.Or(g.controlled(), g.dirs[proc.Systemd])
}

// controlled is where it lies in the tree of a controller; "" where only systemd has it.
func (g *group) controlled() string {
	return cmp.Or(g.dirs[""], g.dirs["cpu"], g.dirs["cpuacct"], g.dirs["memory"])
}

// processes are the numbers of those in a group and in all below it.
func (g *group) processes() []int { return proc.InGroups(g.dir()) }

// id tells the group from a later one of its name.
func (g *group) id() os.FileInfo {
	info, err := os.Stat(g.dir())
	if err != nil {
		return nil
	}
	return info
}

// same reports that the group is one of earlier.
func (g *group) same(before os.FileInfo) bool {
	now := g.id()
	return now == nil || before == nil || os.SameFile(now, before)
}

func (g *group) first() int {
	if pids := g.processes(); len(pids) > 0 {
		return pids[0]
	}
	return 0
}

// around are the group itself and those that it is in, the inmost first: the limits of all hold for it.
func (g *group) around() (list []*group) {
	all := proc.Hierarchies()
	for at := g.path; ; at = path.Dir(at) {
		if x, err := groupIn(all, at); err == nil {
			list = append(list, x)
		}
		if at == "/" || at == "." {
			return list
		}
	}
}

// unlimited is more memory than any host has: version 1 says the largest number of pages.
const unlimited = 1 << 60

// ceilings are the group's limits of memory. In version 2 it may have two: above the soft one (memory.high), its
// processes give memory back before they run on.
func (g *group) ceilings() []*Ceiling {
	return append(g.ceiling("memory", "memory.limit_in_bytes", "memory.failcnt", "max"), g.ceiling("", "", "", "high")...)
}

// ceiling is one of those, whose files each version has; none where it is not set.
func (g *group) ceiling(controller, v1, failed, key string) []*Ceiling {
	file := g.file(controller, v1, "memory."+key)
	b, err := os.ReadFile(file)
	bytes, err2 := strconv.ParseFloat(strings.TrimSpace(string(b)), 64)
	if err != nil || err2 != nil || bytes >= unlimited { // "max" is none
		return nil
	}
	c := &Ceiling{File: file, Bytes: bytes}
	events := g.file(controller, failed, "memory.events")
	b, _ = os.ReadFile(events)
	if c.Hits, err = strconv.ParseFloat(strings.TrimSpace(string(b)), 64); err != nil { // version 1 has one number
		m, _ := proc.Keyed(events)
		c.Hits = float64(m[key])
	}
	return []*Ceiling{c}
}

// limit is the group's quota: a file of quota and period in version 2, two files in version 1.
func (g *group) limit() *Quota {
	file := g.file("cpu", "cpu.cfs_quota_us", "cpu.max")
	b, _ := os.ReadFile(file)
	if period := g.file("cpu", "cpu.cfs_period_us", ""); period != "" {
		p, _ := os.ReadFile(period)
		b = slices.Concat(b, []byte(" "), p)
	}
	var quota, period float64
	if n, _ := fmt.Sscan(string(b), &quota, &period); n < 2 || quota <= 0 || period <= 0 {
		return nil
	}
	return &Quota{File: file, CPUs: quota / period, Period: period / 1e6}
}

// used is the CPU time of all that is and was in the group, s.
func (g *group) used() (float64, bool) {
	if file := g.file("cpuacct", "cpuacct.usage", ""); file != "" {
		b, err := os.ReadFile(file)
		ns, err2 := strconv.ParseFloat(strings.TrimSpace(string(b)), 64)
		return ns / 1e9, err == nil && err2 == nil
	}
	m, _ := proc.Keyed(g.file("", "", "cpu.stat"))
	us, ok := m["usage_usec"]
	return float64(us) / 1e6, ok
}

// throttled is for how long a quota has kept CPUs from the group, over all CPUs, s.
func (g *group) throttled() (float64, bool) {
	m, _ := proc.Keyed(g.file("cpu", "cpu.stat", "cpu.stat"))
	d, ok := proc.Throttled(m)
	return d.Seconds(), ok
}
