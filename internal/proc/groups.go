package proc

import (
	"fmt"
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

// Membership is the control group of a process in one hierarchy, a line of /proc/PID/cgroup (cgroups(7)).
type Membership struct {
	Controllers []string // as a Hierarchy has them
	Group       string   // from the root of our own cgroup namespace; one outside of it begins with /..
}

// Has reports whether the hierarchy has a controller; "" is version 2.
func (m Membership) Has(controller string) bool { return slices.Contains(m.Controllers, controller) }

// Memberships are the groups of a process.
func Memberships(pid int) ([]Membership, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	return ParseMemberships(string(b)), err
}

// ParseMemberships reads lines such as "4:memory:/a/b", or "0::/a/b" of version 2. Others are left out.
func ParseMemberships(text string) (list []Membership) {
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) < 3 || !strings.HasPrefix(f[2], "/") {
			continue
		}
		if _, err := strconv.ParseUint(f[0], 10, 64); err == nil {
			list = append(list, Membership{strings.Split(f[1], ","), f[2]})
		}
	}
	return list
}
