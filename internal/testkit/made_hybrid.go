package testkit

import "fmt"

// MadeHybrid writes a small Intel machine with two performance cores of two
// threads (CPUs 0-3) and four efficiency cores (4-7) that share a level 2 cache:
// intel_pstate, EPB, and idle states whose latencies differ between the kinds.
func MadeHybrid(dir string) error {
	w := newWriter(dir)
	w.files(cpuRoot, "online", "0-7", "offline", "", "present", "0-7", "smt/control", "on", "smt/active", 1,
		"intel_pstate/status", "active", "intel_pstate/no_turbo", 0, "intel_pstate/min_perf_pct", 9,
		"intel_pstate/max_perf_pct",
		100,
		"cpuidle/current_driver", "intel_idle", "cpuidle/current_governor", "menu",
		"intel_uncore_frequency/package_00_die_00/min_freq_khz", 800000,
		"intel_uncore_frequency/package_00_die_00/max_freq_khz",
		4500000)
	w.file("sys/devices/cpu_core/cpus", "0-3")
	w.file("sys/devices/cpu_atom/cpus", "4-7")
	w.files("sys/firmware/acpi", "platform_profile", "balanced", "platform_profile_choices",
		"low-power balanced performance")
	for c := range 8 {
		big := c < 4
		core, sibling, l2, top, base, capacity := c/2*4, fmt.Sprintf("%d-%d", c/2*2, c/2*2+1), "", 5000000, 2400000, 1024
		l1d, l1i, l2size, c6 := "48K", "32K", "2048K", 220
		if l2 = sibling; !big {
			core, sibling, l2, top, base, capacity = c+4, fmt.Sprint(c), "4-7", 3800000, 1800000, 640
			l1d, l1i, l2size, c6 = "32K", "64K", "4096K", 270
		}
		if c < 2 {
			top, capacity = 5200000, 1009 // a favoured core: capacity differs within one kind
		}
		d := fmt.Sprintf("%s/cpu%d", cpuRoot, c)
		w.files(d+"/topology", "physical_package_id", 0, "die_id", 0, "cluster_id", core/4*8, "core_id", core,
			"core_cpus_list", sibling, "thread_siblings_list", sibling)
		w.files(d, "cpu_capacity", capacity, "power/energy_perf_bias", 6, "power/pm_qos_resume_latency_us", 0)
		for i, k := range [][4]string{{"1", "Data", l1d, sibling}, {"1", "Instruction", l1i, sibling},
			{"2", "Unified", l2size, l2}, {"3", "Unified", "24576K", "0-7"}} {
			w.files(fmt.Sprintf("%s/cache/index%d", d, i), "level", k[0], "type", k[1], "size", k[2], "shared_cpu_list", k[3],
				"coherency_line_size", 64, "ways_of_associativity", 12)
		}
		p := fmt.Sprintf("%s/cpufreq/policy%d", cpuRoot, c)
		w.files(p, "related_cpus", c, "affected_cpus", c, "scaling_driver", "intel_pstate", "scaling_governor", "powersave",
			"scaling_available_governors", "performance powersave", "cpuinfo_min_freq", 400000, "cpuinfo_max_freq", top,
			"base_frequency", base, "scaling_min_freq", 400000, "scaling_max_freq", top, "cpuinfo_transition_latency", 0,
			"scaling_cur_freq", 900000,
			"energy_performance_preference", "balance_power", "energy_performance_available_preferences", "default performance "+
				"balance_performance balance_power power ")
		w.link(d+"/cpufreq", p)
		for i, s := range []struct {
			name string
			lat  int
		}{{"POLL", 0}, {"C1E", 2}, {"C6", c6}} {
			w.files(fmt.Sprintf("%s/cpuidle/state%d", d, i), "name", s.name, "desc", "MWAIT", "latency", s.lat, "residency",
				s.lat*3, "disable", 0)
		}
	}
	w.files("sys/devices/system/node/node0", "cpulist", "0-7", "distance", 10, "meminfo",
		"Node 0 MemTotal:       33554432 kB")
	w.file("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Core(TM) Made Hybrid\ncpu "+
		"MHz\t\t: 900.000\n")
	w.file("proc/meminfo", "MemTotal:       33554432 kB\nSwapTotal:             0 kB")
	return w.err
}
