package proc

import (
	"fmt"
	"os"
	"strings"
)

// kthreadd is the parent of all threads of the kernel.
const kthreadd = 2

// GroupOf is the control group of a process: in version 2, or else in systemd's own tree, or that of its CPU time (cgroups(7)).
func GroupOf(pid int) (group string) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 || f[2] == "/" {
			continue
		}
		if group == "" && strings.Contains(f[1], "cpu") || f[1] == "" || f[1] == "name=systemd" {
			group = f[2]
		}
	}
	return group
}
