package host_test

import (
	"fmt"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

func cacheLines(caches []host.Cache) []string {
	var lines []string
	for _, c := range caches {
		lines = append(lines, fmt.Sprintf("L%d %s %s %s", c.Level, c.Type, stateText(c.Size), host.FormatList(c.CPUs)))
	}
	return lines
}

func TestCaches(t *testing.T) {
	const l1 = "cpu0/cache/index0/level: 1\ncpu0/cache/index0/type: Data\n"
	for _, c := range []struct {
		name, files string
		want        []string
	}{
		{"shared by the core", l1 + "cpu0/cache/index0/size: 48K\ncpu0/cache/index0/shared_cpu_list: 0-1\n", []string{"L1 Data 49152 0-1"}},
		{"a size that a hypervisor left out", l1 + "cpu0/cache/index0/shared_cpu_list: 0\n", []string{"L1 Data absent no such file or directory 0"}},
		{"a list that cannot be read", l1 + "cpu0/cache/index0/size: 1M\ncpu0/cache/index0/shared_cpu_list: !errno EIO\n", []string{"L1 Data 1048576 0"}},
		{"a list without the CPU itself", l1 + "cpu0/cache/index0/size: 1M\ncpu0/cache/index0/shared_cpu_list: 2-3\n", []string{"L1 Data 1048576 0"}},
		{"a garbled size", l1 + "cpu0/cache/index0/size: big\n", []string{`L1 Data error expected a size like 48K, found "big" 0`}},
		{"a garbled level does not end the list", "cpu0/cache/index0/level: one\ncpu0/cache/index1/level: 2\ncpu0/cache/index1/type: Unified\ncpu0/cache/index1/size: 2048K\n",
			[]string{"L2 Unified 2097152 0"}},
		// The second thread of a core has a cache of its own that the first one's
		// lists do not cover.
		{"a thread that its sibling does not cover", l1 + "cpu0/cache/index0/size: 48K\ncpu0/cache/index0/shared_cpu_list: 0\n" +
			"cpu1/cache/index0/level: 1\ncpu1/cache/index0/type: Data\ncpu1/cache/index0/size: 48K\ncpu1/cache/index0/shared_cpu_list: 1\n",
			[]string{"L1 Data 49152 0", "L1 Data 49152 1"}},
		{"none", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			testkit.Same(t, c.want, cacheLines(cpuTree(t, core2x2+c.files).Topology.Caches))
		})
	}
}
