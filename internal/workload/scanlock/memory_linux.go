package scanlock

import (
	"path/filepath"
	"strconv"
	"strings"

	"hostlab/internal/host"

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
	version, dirs := host.Groups(host.Tree{}, "memory")
	return max(1, leftIn(version, dirs, int64(min(*info.MemAvailableBytes, 1<<62))))
}

// leftIn is what control groups leave; most, where none of them has a limit. Pages of files
// that nobody has used lately can be had.
func leftIn(version int, dirs []string, most int64) int64 {
	limit, usage, tree := "memory.max", "memory.current", host.Tree{}
	if version == 1 {
		limit, usage = "memory.limit_in_bytes", "memory.usage_in_bytes"
	}
	for _, dir := range dirs {
		top, limited := tree.Int(filepath.Join(dir, limit), "", 1).Get() // "max" is no number
		used, known := tree.Int(filepath.Join(dir, usage), "", 1).Get()
		if limited && known {
			most = min(most, max(0, top-used+inactive(tree.Text(filepath.Join(dir, "memory.stat")).Or(""))))
		}
	}
	return most
}

// inactive is the bytes of inactive_file of a memory.stat, its groups below included.
func inactive(stat string) (n int64) {
	for line := range strings.Lines(stat) {
		f := strings.Fields(line)
		if len(f) == 2 && (f[0] == "inactive_file" && n == 0 || f[0] == "total_inactive_file") {
			n, _ = strconv.ParseInt(f[1], 10, 64)
		}
	}
	return n
}
