package proc

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

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
