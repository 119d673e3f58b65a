package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mostGroups is how many control groups below one are read: a host of containers has thousands.
const mostGroups = 10000

// InGroups lists the processes in control groups, by their directories, and in all below them.
func InGroups(dirs ...string) (pids []int) {
	seen := 0
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil //nolint:nilerr // a group may end while it is read
			}
			if seen++; seen > mostGroups {
				return fs.SkipAll
			}
			// A threaded group of version 2 lists no processes but those of its root (cgroup-v2.rst).
			b, _ := os.ReadFile(filepath.Join(at, "cgroup.procs"))
			for f := range strings.FieldsSeq(string(b)) {
				if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
					pids = append(pids, pid)
				}
			}
			return nil
		})
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}
