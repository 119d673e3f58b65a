package proc

import (
	"slices"
	"testing"
)

// TestGroupsOf: all groups of a process are known where trees of both versions have different ones.
func TestGroupsOf(t *testing.T) {
	for lines, want := range map[string][]string{
		"0::/system.slice/x.service\n": {"/system.slice/x.service"},
		"4:cpu,cpuacct:/docker/ab\n1:name=systemd:/docker/ab\n0::/system.slice/containerd.service\n": {
			"/system.slice/containerd.service", "/docker/ab"},
		"4:cpu,cpuacct:/docker/ab\n1:name=systemd:/docker/ab\n0::/\n": {"/docker/ab"},
		"4:cpu,cpuacct:/a\n3:memory:/b\n":                             {"/a", "/b"},
		"0::/\n":                                                      nil, "": nil, "x\n": nil,
	} {
		if got := groupsOf(ParseMemberships(lines)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
	}
}
