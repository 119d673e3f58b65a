package trace

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
)

// hierarchy is where cgroups of a target are.
type hierarchy struct {
	version    int
	controller string // of version 1
}

// hierarchyOf finds the hierarchy that holds a directory.
func hierarchyOf(dir string) (hierarchy, error) {
	best := proc.Hierarchy{}
	for _, h := range proc.Hierarchies() {
		if h.Group(dir) != "" && len(h.Mount) > len(best.Mount) {
			best = h
		}
	}
	for _, c := range best.Controllers {
		switch c {
		case "":
			return hierarchy{version: 2}, nil
		case proc.Systemd:
		default:
			return hierarchy{1, c}, nil
		}
	}
	if best.Mount == "" {
		return hierarchy{}, fmt.Errorf("cgroup %s: not in a cgroup file system; name a directory below /sys/fs/cgroup", dir)
	}
	return hierarchy{}, fmt.Errorf(
		"cgroup %s: its hierarchy has no controller; name the cgroup in that of a controller, as cpu",
		dir)
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

// exists reports that a process has not ended. One that waits to be reaped has, but for a first
// thread that others outlive.
func exists(pid int) bool {
	s, err := proc.Read(pid)
	if err != nil || !s.Ended() {
		return err == nil
	}
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return len(threads) > 1
}
