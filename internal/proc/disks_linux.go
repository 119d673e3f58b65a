package proc

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// DisksOf are the disks, by name, on which processes have files open. A file system without a device of its own has
// none, as in memory, over a network, or btrfs (get_anon_bdev).
func DisksOf(pids []int) map[string]bool {
	out, known := map[string]bool{}, map[uint64]bool{}
	for _, pid := range pids {
		for fd := range descriptors(pid) {
			// A server of files that is dead, or another user's, is not asked: it might never answer (statx(2)).
			var at unix.Statx_t
			file := fmt.Sprintf("/proc/%d/fd/%s", pid, fd)
			err := unix.Statx(unix.AT_FDCWD, file, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &at)
			device := unix.Mkdev(at.Dev_major, at.Dev_minor)
			if err != nil || at.Mode&unix.S_IFMT != unix.S_IFREG || known[device] {
				continue
			}
			known[device] = true
			if name := diskOf(device); name != "" {
				out[name] = true
			}
		}
	}
	return out
}

// Under are the disks on which one lies, as a logical volume does on that of its group, and that one.
func Under(disk string) map[string]bool {
	out := map[string]bool{disk: true}
	links, _ := filepath.Glob(filepath.Join("/sys/block", disk, "slaves", "*"))
	for _, link := range links {
		maps.Copy(out, Under(diskAt(link)))
	}
	return out
}

// diskOf is the disk that has a block device, which may be a partition of it; "": there is none.
func diskOf(device uint64) string {
	return diskAt(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(device), unix.Minor(device)))
}

func diskAt(link string) string {
	dir, err := filepath.EvalSymlinks(link)
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
	}
	return filepath.Base(dir)
}
