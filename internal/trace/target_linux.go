package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// hierarchy is where cgroups of a target are.
type hierarchy struct {
	version    int
	controller string // of version 1
}

// hierarchyOf reads in mountinfo which hierarchy holds a directory.
func hierarchyOf(dir string) (hierarchy, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return hierarchy{}, fmt.Errorf("cgroup %s: %w", dir, err)
	}
	switch st.Type {
	case unix.CGROUP2_SUPER_MAGIC:
		return hierarchy{version: 2}, nil
	case unix.CGROUP_SUPER_MAGIC:
	default:
		return hierarchy{}, fmt.Errorf("cgroup %s: not in a cgroup file system; name a directory below /sys/fs/cgroup", dir)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return hierarchy{}, err
	}
	best, options := "", ""
	for line := range strings.Lines(string(mounts)) {
		left, right, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(left), strings.Fields(right)
		if !ok || len(f) < 5 || len(g) < 3 || g[0] != "cgroup" {
			continue
		}
		if (dir == f[4] || strings.HasPrefix(dir, f[4]+"/")) && len(f[4]) > len(best) {
			best, options = f[4], g[2]
		}
	}
	for o := range strings.SplitSeq(options, ",") {
		switch o {
		case "cpu", "cpuacct", "cpuset", "memory", "pids", "blkio", "devices", "freezer", "net_cls", "net_prio", "perf_event", "hugetlb", "rdma", "misc":
			return hierarchy{1, o}, nil
		}
	}
	return hierarchy{}, fmt.Errorf("cgroup %s: its hierarchy has no controller; name the cgroup in that of a controller, as cpu", dir)
}

// cgroupIDs are the numbers that the kernel knows directories by: kernfs gives them the same
// inode number where ino_t has 64 bits (fs/kernfs/mount.c).
func cgroupIDs(dirs []string) (ids []uint64, h hierarchy, err error) {
	for i, dir := range dirs {
		dir = filepath.Clean(dir)
		own, err := hierarchyOf(dir)
		if err != nil {
			return nil, h, err
		}
		if i > 0 && own != h {
			return nil, h, fmt.Errorf("cgroups %s and %s are of two hierarchies; name those of one", dirs[0], dir)
		}
		h = own
		var st unix.Stat_t
		if err := unix.Stat(dir, &st); err != nil {
			return nil, h, fmt.Errorf("cgroup %s: %w", dir, err)
		}
		ids = append(ids, st.Ino)
	}
	return ids, h, nil
}

func exists(pid int) bool { return unix.Kill(pid, 0) != unix.ESRCH }
