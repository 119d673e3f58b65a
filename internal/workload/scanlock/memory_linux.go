package scanlock

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// freeMemory is how many bytes may be taken without pushing out what others use: those
// that the kernel calls available, or what the limits of this process's control groups
// leave of them; 0: not known.
func freeMemory() int64 {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	info, err := fs.Meminfo()
	if err != nil || info.MemAvailableBytes == nil {
		return 0
	}
	free := int64(min(*info.MemAvailableBytes, 1<<62))
	self, err := procfs.Self()
	if err != nil {
		return free
	}
	groups, _ := self.Cgroups() // without, there is no limit
	for _, g := range groups {
		root, limit, usage := "/sys/fs/cgroup", "memory.max", "memory.current"
		switch {
		case g.HierarchyID == 0:
		case strings.Contains(","+strings.Join(g.Controllers, ",")+",", ",memory,"):
			root, limit, usage = "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		default:
			continue
		}
		free = min(free, leftIn(root, g.Path, limit, usage, free))
	}
	return max(free, 1)
}

// leftIn is what a control group and those above it leave; most, where none of them
// has a limit. Pages of files that nobody has used lately can be had.
func leftIn(root, path, limit, usage string, most int64) int64 {
	for dir := filepath.Join("/", path); ; dir = filepath.Dir(dir) {
		at := filepath.Join(root, dir)
		top, okTop := numberIn(filepath.Join(at, limit))
		used, okUsed := numberIn(filepath.Join(at, usage))
		if okTop && okUsed {
			most = min(most, max(0, top-used+inactive(filepath.Join(at, "memory.stat"))))
		}
		if dir == "/" {
			return most
		}
	}
}

// numberIn reads a file of one number; "max" is none.
func numberIn(path string) (int64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// inactive is the bytes of inactive_file of a memory.stat, its groups below included.
func inactive(path string) (n int64) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 2 && (f[0] == "inactive_file" && n == 0 || f[0] == "total_inactive_file") {
			n, _ = strconv.ParseInt(f[1], 10, 64)
		}
	}
	return n
}
