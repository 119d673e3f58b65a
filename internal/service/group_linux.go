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
func findGroup(at string) (*group, error) {
	all := proc.Hierarchies()
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

// groupOf is the group that limits a process' CPU time; nil where it does not show.
func groupOf(pid int) *group {
	for _, at := range pathsOf(pid, "cpu") {
		if g, err := findGroup(at); err == nil && g.has("cpu") {
			return g
		}
	}
	return nil
}

// boundedOf is the group that limits a process' memory, which in version 1 may be another than that of its CPU time; nil: none does.
func boundedOf(pid int) *group {
	for _, at := range pathsOf(pid, "memory") {
		if g, err := findGroup(at); err == nil {
			if b := g.bounded(); b != nil {
				return b
			}
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
	return cmp.Or(g.controlled(), g.dirs[proc.Systemd])
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

// limited is the group itself or the nearest one around it that has a CPU quota.
func (g *group) limited() *group { return g.nearest((*group).hasQuota) }

// bounded is the nearest one whose memory is limited.
func (g *group) bounded() *group {
	return g.nearest(func(x *group) bool { return x.ceiling() != nil })
}

func (g *group) nearest(is func(*group) bool) *group {
	for at := g.path; ; at = path.Dir(at) {
		if x, err := findGroup(at); err == nil && is(x) {
			return x
		}
		if at == "/" || at == "." {
			return nil
		}
	}
}

// unlimited is more memory than any host has: version 1 says the largest number of pages.
const unlimited = 1 << 60

// ceiling is the group's limit of memory. In version 2 it may be a soft one, above which its processes give memory back as they run.
func (g *group) ceiling() *Ceiling {
	for _, f := range []struct{ limit, hits, key string }{
		{g.file("memory", "memory.limit_in_bytes", "memory.max"), g.file("memory", "memory.failcnt", "memory.events"), "max"},
		{g.file("", "", "memory.high"), g.file("", "", "memory.events"), "high"},
	} {
		b, err := os.ReadFile(f.limit)
		bytes, err2 := strconv.ParseFloat(strings.TrimSpace(string(b)), 64)
		if f.limit == "" || err != nil || err2 != nil || bytes >= unlimited { // "max" is none
			continue
		}
		c := &Ceiling{File: f.limit, Bytes: bytes}
		b, _ = os.ReadFile(f.hits)
		hits, err := strconv.ParseFloat(strings.TrimSpace(string(b)), 64) // version 1 has one number
		if err != nil {
			m, _ := proc.Keyed(f.hits)
			hits = float64(m[f.key])
		}
		c.Hits = hits
		return c
	}
	return nil
}

func (g *group) hasQuota() bool {
	b, err := os.ReadFile(g.file("cpu", "cpu.cfs_quota_us", "cpu.max"))
	f := strings.Fields(string(b))
	return err == nil && len(f) > 0 && f[0] != "max" && f[0] != "-1"
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
