package host_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

func TestCounts(t *testing.T) {
	for _, c := range []struct{ name, files, sockets, cores, threads string }{
		{"two threads a core", core2x2, "1", "2", "4"},
		{"the older name of the siblings", `online: 0-1
cpu0/topology/physical_package_id: 0
cpu1/topology/physical_package_id: 1
cpu0/topology/thread_siblings_list: 0
cpu1/topology/thread_siblings_list: 1`, "2", "2", "2"},
		{"no siblings: counted by core_id in its die", `online: 0-3
cpu0/topology/physical_package_id: 0
cpu1/topology/physical_package_id: 0
cpu2/topology/physical_package_id: 0
cpu3/topology/physical_package_id: 0
cpu0/topology/die_id: 0
cpu1/topology/die_id: 0
cpu2/topology/die_id: 1
cpu3/topology/die_id: 1
cpu0/topology/core_id: 0
cpu1/topology/core_id: 0
cpu2/topology/core_id: 0
cpu3/topology/core_id: 7`, "1", "3", "4"},
		{"a guest without topology", `online: 0-1
cpu0/topology/physical_package_id: -1
cpu1/topology/physical_package_id: -1
cpu0/topology/core_id: -1
cpu1/topology/core_id: -1
cpu0/topology/core_cpus_list: 0
cpu1/topology/core_cpus_list: 1`, "absent the kernel has none", "2", "2"},
		{"high and sparse package numbers", `online: 0,5
cpu0/topology/physical_package_id: 36
cpu5/topology/physical_package_id: 4096
cpu0/topology/core_cpus_list: 0
cpu5/topology/core_cpus_list: 5`, "2", "2", "2"},
		{"sockets of a mainframe, in books and drawers", `online: 0-2
cpu0/topology/physical_package_id: 1
cpu1/topology/physical_package_id: 1
cpu2/topology/physical_package_id: 1
cpu0/topology/book_id: 1
cpu1/topology/book_id: 2
cpu2/topology/book_id: 1
cpu0/topology/drawer_id: 0
cpu1/topology/drawer_id: 0
cpu2/topology/drawer_id: 1
cpu0/topology/core_cpus_list: 0
cpu1/topology/core_cpus_list: 1
cpu2/topology/core_cpus_list: 2`, "3", "3", "3"},
		{"garbled", `online: 0-1
cpu0/topology/physical_package_id: x
cpu1/topology/physical_package_id: 0
cpu0/topology/core_cpus_list: 7
cpu1/topology/core_cpus_list: ,,`, `error expected a whole number, found "x"`, "absent no such file or directory", "2"},
		{"nothing", "present: 0-1", "absent no CPU is known", "absent no CPU is known", "absent no such file or directory"},
		{"an empty list", "online:", "absent no CPU is known", "absent no CPU is known", "error no CPU is listed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := cpuTree(t, c.files).Topology
			got := []string{stateText(top.Sockets), stateText(top.Cores), stateText(top.Threads)}
			testkit.Same(t, []string{c.sockets, c.cores, c.threads}, got, "sockets, cores, threads")
		})
	}
}

// Power has four or eight threads a core, of which some may be off, and its cores of eight have two first caches, for even
// and for odd threads.
func TestThreadsOfPower(t *testing.T) {
	for _, c := range []struct {
		threads, on int
		cores       string
	}{{4, 4, "2"}, {8, 8, "2"}, {8, 4, "2"}, {8, 1, "2"}} {
		var lines, online []string
		for core := range 2 {
			var siblings, even []string
			for i := range c.on {
				siblings = append(siblings, strconv.Itoa(core*c.threads+i))
				if i%2 == 0 {
					even = append(even, siblings[i])
				}
			}
			online = append(online, siblings...)
			for _, id := range siblings {
				at := "cpu" + id
				lines = append(lines, at+"/topology/physical_package_id: 0", at+"/topology/core_id: "+strconv.Itoa(core*c.threads),
					at+"/topology/thread_siblings_list: "+strings.Join(siblings, ","))
				if slices.Contains(even, id) {
					lines = append(lines, at+"/cache/index0/level: 1", at+"/cache/index0/type: Data", at+"/cache/index0/size: 32K",
						at+"/cache/index0/shared_cpu_list: "+strings.Join(even, ","))
				}
			}
		}
		top := cpuTree(t, "online: "+strings.Join(online, ",")+"\n"+strings.Join(lines, "\n")).Topology
		testkit.Is(t, c.cores, stateText(top.Cores), "cores of", c.threads, c.on)
		testkit.Is(t, 2*c.on, top.Threads.Value, "threads of", c.threads, c.on)
		testkit.Is(t, c.on, len(top.CPUs[0].Siblings.Value), "siblings of", c.threads, c.on)
		testkit.Is(t, (c.on+1)/2, len(top.Caches[0].CPUs), "that share a first cache, of", c.threads, c.on)
	}
}

// Intel's third kind of cores stands apart from the other two.
func TestLowPowerCores(t *testing.T) {
	tree := testkit.Unpack(t, host.ExtractArchive, "-- sys/devices/system/cpu/online --\n0-5\n-- sys/devices/cpu_core/cpus --\n0-1\n"+
		"-- sys/devices/cpu_atom/cpus --\n2-3\n-- sys/devices/cpu_lowpower/cpus --\n4-5\n")
	var got []string
	for _, c := range host.Collect(context.Background(), host.Options{Tree: host.Tree{Root: tree}}).Topology.CoreTypes {
		got = append(got, c.Name+" "+host.FormatList(c.CPUs))
	}
	testkit.Same(t, []string{"performance 0-1", "efficiency 2-3", "low-power 4-5"}, got)
}

func TestSMTControl(t *testing.T) {
	for _, c := range []struct{ files, control, active string }{
		{"smt/control: forceoff\nsmt/active: 0", "forceoff", "false"},
		{"smt/control: notsupported\nsmt/active: 0", "notsupported", "false"},
		{"smt/control: notimplemented\nsmt/active: !errno EACCES", "notimplemented", "denied permission denied"},
		{"smt/control: on\nsmt/active: 1", "on", "true"},
		{"smt/control:", "error the file is empty", "absent no such file or directory"},
	} {
		top := cpuTree(t, core2x2+c.files).Topology
		testkit.Is(t, c.control, stateText(top.SMTControl), c.files, "control")
		testkit.Is(t, c.active, stateText(top.SMTActive), c.files, "active")
	}
}

func TestOnlineFromCpuinfo(t *testing.T) {
	tree := host.Tree{Root: testkit.Unpack(t, host.ExtractArchive, "-- proc/cpuinfo --\nprocessor\t: 0\nmodel name\t: x\n\nprocessor\t: 3\n")}
	online := host.Collect(context.Background(), host.Options{Tree: tree}).Topology.Online
	testkit.Same(t, host.Known([]int{0, 3}, "", "/proc/cpuinfo"), online)
}

func TestHybrid(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, testkit.MadeHybrid(dir))
	f := host.Collect(context.Background(), host.Options{Tree: host.Tree{Root: dir}})
	want := []host.CoreType{
		{Name: "performance", CPUs: []int{0, 1, 2, 3}, Capacity: host.Known(int64(1024), "", "/"+cpuFiles+"cpu2/cpu_capacity")},
		{Name: "efficiency", CPUs: []int{4, 5, 6, 7}, Capacity: host.Known(int64(640), "", "/"+cpuFiles+"cpu4/cpu_capacity")},
	}
	if d := cmp.Diff(want, f.Topology.CoreTypes); d != "" {
		t.Error("core types (-want +got):\n" + d)
	}
	testkit.Is(t, "efficiency", f.Topology.CPUs[5].CoreType, "cpu5 is of type")
	type state struct {
		Name    string
		Latency float64
		CPUs    string
	}
	var states []state
	for _, s := range f.Idle.States {
		states = append(states, state{s.Name.Value, s.Latency.Value, host.FormatList(s.CPUs)})
	}
	if d := cmp.Diff([]state{{"POLL", 0, "0-7"}, {"C1E", 2e-6, "0-7"}, {"C6", 220e-6, "0-3"}, {"C6", 270e-6, "4-7"}}, states); d != "" {
		t.Error("idle states (-want +got):\n" + d)
	}
	if d := cmp.Diff([]string{
		"L1 Data 49152 0-1", "L1 Data 49152 2-3", "L1 Data 32768 4", "L1 Data 32768 5", "L1 Data 32768 6", "L1 Data 32768 7",
		"L1 Instruction 32768 0-1", "L1 Instruction 32768 2-3", "L1 Instruction 65536 4", "L1 Instruction 65536 5",
		"L1 Instruction 65536 6", "L1 Instruction 65536 7", "L2 Unified 2097152 0-1", "L2 Unified 2097152 2-3",
		"L2 Unified 4194304 4-7", "L3 Unified 25165824 0-7"}, cacheLines(f.Topology.Caches)); d != "" {
		t.Error("caches (-want +got):\n" + d)
	}
}

func TestCapacityTypes(t *testing.T) {
	f := cpuTree(t, core2x2+"cpu0/cpu_capacity: 446\ncpu1/cpu_capacity: 446\ncpu2/cpu_capacity: 871\ncpu3/cpu_capacity: 1024\n")
	var got []string
	for _, c := range f.Topology.CoreTypes {
		got = append(got, c.Name+" "+host.FormatList(c.CPUs))
	}
	testkit.Same(t, []string{"performance 3", "capacity-871 2", "efficiency 0-1"}, got)
}

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
