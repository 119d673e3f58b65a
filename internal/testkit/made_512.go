package testkit

import (
	"fmt"
	"strings"
)

// The made server's size: an AMD EPYC of the Turin generation, two sockets.
const (
	sockets  = 2
	perSock  = 128 // cores of a socket
	cores    = sockets * perSock
	threads  = 2
	cpus     = cores * threads
	perL3    = 8 // cores that share a level 3 cache
	nodes    = 8 // NPS4: four memory nodes a socket
	perNode  = cores / nodes
	cpuRoot  = "sys/devices/system/cpu"
	nodeKiB  = 192 << 20 // 192 GiB a node
	totalKiB = nodes * nodeKiB
)

// Made512 writes a two-socket server with 512 CPUs below dir: amd-pstate-epp
// with a policy for each CPU, four idle states, eight memory nodes, and a log
// volume on two NVMe disks under LVM. The values are those such a machine would
// show out of the box: governor powersave, EPP balance_performance.
func Made512(dir string) error {
	w := newWriter(dir)
	w.files(cpuRoot,
		"online", "0-511", "offline", "", "present", "0-511", "possible", "0-511", "isolated", "", "kernel_max", 8191,
		"smt/control", "on", "smt/active", 1,
		"amd_pstate/status", "active", "amd_pstate/prefcore", "enabled", "cpufreq/boost", 1,
		"cpuidle/current_driver", "acpi_idle", "cpuidle/current_governor", "menu",
		"cpuidle/current_governor_ro", "menu", "cpuidle/available_governors", "ladder menu teo ")
	for c := range cpus {
		core := c % cores
		sibling := fmt.Sprintf("%d,%d", core, core+cores)
		w.topology(c, core, sibling)
		w.caches(c, core, sibling)
		w.policy(c)
		w.idle(c)
		d := fmt.Sprintf("%s/cpu%d", cpuRoot, c)
		w.files(d, "power/pm_qos_resume_latency_us", 0, "cpu_capacity", 1024, "online", 1)
		w.link(fmt.Sprintf("%s/node%d", d, core/perNode), fmt.Sprintf("sys/devices/system/node/node%d", core/perNode))
	}
	for n := range nodes {
		d := fmt.Sprintf("sys/devices/system/node/node%d", n)
		lo, hi := n*perNode, (n+1)*perNode-1
		dist := make([]string, nodes)
		for o := range nodes {
			dist[o] = map[bool]string{true: "12", false: "32"}[o/4 == n/4]
		}
		dist[n] = "10"
		w.files(d, "cpulist", fmt.Sprintf("%d-%d,%d-%d", lo, hi, lo+cores, hi+cores), "distance", strings.Join(dist, " "),
			"meminfo", fmt.Sprintf("Node %d MemTotal:       %d kB\nNode %d MemFree:        %d kB", n, nodeKiB, n, nodeKiB/2))
	}
	w.files("sys/devices/system/node", "online", "0-7", "possible", "0-7", "has_cpu", "0-7")
	w.server()
	w.disks()
	return w.err
}

func (w *writer) topology(c, core int, sibling string) {
	s := core / perSock
	pkg := fmt.Sprintf("%d-%d,%d-%d", s*perSock, (s+1)*perSock-1, cores+s*perSock, cores+(s+1)*perSock-1)
	w.files(fmt.Sprintf("%s/cpu%d/topology", cpuRoot, c),
		"physical_package_id", s, "die_id", core%perSock/perL3, "cluster_id", 65535, "core_id", core%perSock,
		"core_cpus_list", sibling, "thread_siblings_list", sibling, "package_cpus_list", pkg, "core_siblings_list", pkg)
}

func (w *writer) caches(c, core int, sibling string) {
	first := core / perL3 * perL3
	l3 := fmt.Sprintf("%d-%d,%d-%d", first, first+perL3-1, cores+first, cores+first+perL3-1)
	for i, k := range []struct {
		level int
		typ   string
		size  string
		ways  int
		cpus  string
	}{
		{1, "Data", "48K", 12, sibling}, {1, "Instruction", "32K", 8, sibling},
		{2, "Unified", "1024K", 16, sibling}, {3, "Unified", "32768K", 16, l3},
	} {
		w.files(fmt.Sprintf("%s/cpu%d/cache/index%d", cpuRoot, c, i),
			"level", k.level, "type", k.typ, "size", k.size, "ways_of_associativity", k.ways,
			"coherency_line_size", 64, "shared_cpu_list", k.cpus)
	}
}

func (w *writer) policy(c int) {
	p := fmt.Sprintf("%s/cpufreq/policy%d", cpuRoot, c)
	w.files(p,
		"related_cpus", c, "affected_cpus", c, "scaling_driver", "amd-pstate-epp",
		"scaling_governor", "powersave", "scaling_available_governors", "performance powersave",
		"cpuinfo_min_freq", 1500000, "cpuinfo_max_freq", 4121000, "cpuinfo_transition_latency", 0,
		"scaling_min_freq", 1500000, "scaling_max_freq", 4121000, "scaling_cur_freq", 1500000+c*5000,
		"amd_pstate_max_freq", 4121000, "amd_pstate_highest_perf", 196, "boost", 1,
		"energy_performance_preference", "balance_performance",
		"energy_performance_available_preferences", "default performance balance_performance balance_power power")
	w.link(fmt.Sprintf("%s/cpu%d/cpufreq", cpuRoot, c), p)
	w.files(fmt.Sprintf("%s/cpu%d/acpi_cppc", cpuRoot, c), "nominal_freq", 2250, "lowest_freq", 400)
}

func (w *writer) idle(c int) {
	for i, s := range []struct {
		name, desc         string
		latency, residency int
	}{
		{"POLL", "CPUIDLE CORE POLL IDLE", 0, 0}, {"C1", "ACPI FFH MWAIT 0x0", 1, 2},
		{"C2", "ACPI IOPORT 0x814", 100, 200}, {"C3", "ACPI IOPORT 0x815", 350, 700},
	} {
		w.files(fmt.Sprintf("%s/cpu%d/cpuidle/state%d", cpuRoot, c, i), "name", s.name, "desc", s.desc,
			"latency", s.latency, "residency", s.residency, "disable", 0, "power", 0, "time", 123456789, "usage", 4321,
			"default_status", "enabled")
	}
}
