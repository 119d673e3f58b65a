package host

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// cgroupDirs lists the directories of this process's cgroups and their ancestors,
// for limits anywhere above bind too.
func cgroupDirs(t Tree) []string {
	c := readCgroups(t)
	var dirs []string
	for _, l := range c.lines { // version 2 beside version 1 may have none of these
		if l.controllers == nil {
			dirs = append(dirs, c.dirs(l.path, "cgroup2", "")...)
		}
	}
	for _, controller := range []string{"cpu", "cpuset", "memory"} {
		dirs = append(dirs, c.view(controller).dirs...)
	}
	return dirs
}

// mountSources lists the /dev names that devices are mounted by, as in /dev/vg/lv.
func mountSources(t Tree) []string {
	var out []string
	for _, m := range readMounts(t, selfMounts).mounts {
		if strings.HasPrefix(m.source, "/dev/") {
			out = append(out, path.Clean(m.source))
		}
	}
	return out
}

// folders lists where a server may keep its data and log: as they were found, and
// as it names them, so that links on the way are recorded.
func (s server) folders() []string {
	var list []string
	for _, f := range []Fact[string]{s.inside.DataDir, s.inside.LogDir, s.db.DataDir, s.db.LogDir} {
		if dir, ok := f.Get(); ok {
			list = append(list, dir)
		}
	}
	for _, dir := range []string{s.postgresDir(), s.option("datadir"), s.option("innodb_log_group_home_dir"), s.cwd().Or("")} {
		if path.IsAbs(dir) && dir != "/" {
			list = append(list, s.seen(dir))
		}
	}
	for _, dir := range slices.Clone(list) {
		for _, sub := range []string{"pg_wal", "pg_xlog", "#innodb_redo", "ib_logfile0"} {
			list = append(list, path.Join(dir, sub))
		}
	}
	for _, p := range slices.Clone(list) { // outside, it may be the same
		if out, ok := strings.CutPrefix(p, s.root); ok && s.root != "" {
			list = append(list, out)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (s server) logs() []string {
	var out []string
	fds, _ := s.t.Dir(s.file("fd"))
	for _, fd := range fds {
		p := s.file("fd/" + fd)
		if target, err := readPath(s.t, p); err == nil && strings.HasPrefix(target, "/") && s.log(strings.TrimSuffix(target, " (deleted)")) {
			out = append(out, p)
		}
	}
	return out
}

func (s server) confs() []string {
	var out []string
	for _, name := range []string{"defaults_file", "defaults_extra_file"} {
		if f := s.option(name); path.IsAbs(f) {
			out = append(out, s.seen(f))
		}
	}
	return out
}

// configHz records CONFIG_HZ where distributions keep the kernel's configuration;
// the whole would be larger than all else.
func (r *recorder) configHz() {
	release := readRelease(r.t).Or("")
	if hz, ok := readConfigHz(r.t, release).Get(); ok && release != "" && !strings.Contains(release, "/") {
		r.members["/boot/config-"+release] = member{data: fmt.Appendf(nil, "CONFIG_HZ=%d", hz)}
	}
}
