package check

import (
	"fmt"
	"path"
	"slices"

	"hostlab/internal/host"
	"hostlab/internal/screen"
)

// smt holds the check of siblings.
var smt = []Check{
	{
		ID: "SMT-001", Subject: SMT, Title: "Simultaneous multithreading (SMT)",
		Why: "Two hardware threads of a core share its caches and issue slots. A sibling that scans memory can starve a " +
			"thread that takes locks; other loads gain from the second thread. Which of the two holds depends on the load " +
			"and the processor, so only a measurement can tell.",
		Source: "published lock/scan measurements with hyper-threading on SQL Server; kernel documentation on SMT control",
		Disagree: "Reports range from a tenth faster without SMT to a fifth faster with it, so no value is recommended. " +
			"Do not switch it off before measuring both throughputs.",
		Severity: everywhere(Info, Info, Info),
		absent:   "the kernel does not say whether SMT is in use", ok: "no two online CPUs share a core, as far as the kernel knows",
		bad: "siblings share cores; measure what a scanning sibling costs before deciding",
		fix: remedy{run("hostlab", "assess")}, left: "decide by measurement",
		look: func(f *host.Facts, _ Role) view {
			control := aside(f.Topology.SMTControl)
			if c := f.Topology.SMTControl.Or(""); c == "notsupported" || c == "notimplemented" {
				return view{readings: []reading{control}, absent: "the processor (or what the hypervisor shows of it) has no SMT"}
			}
			return see(read(f.Topology.SMTActive, is(false)), control)
		},
	},
}

// virt holds the checks of what takes CPUs away.
var virt = []Check{
	{
		ID: "VRT-001", Subject: Degree, Title: "CPU time taken by the hypervisor (steal)",
		Why: "Steal is time in which a virtual CPU was ready to run and the hypervisor ran something else. The guest counts " +
			"it as its own delay: response times vary with the neighbours' load, and a lock holder that is taken off its " +
			"CPU stops all who wait for it.",
		Source: "kernel documentation on /proc/stat; the bound of 2 % is hostlab's own",
		Disagree: "Many monitoring rules tolerate 5 to 10 %, which is late for a database. The share here is since boot, so " +
			"a recent change shows late; a hypervisor may also hide it, so 0 proves little.",
		Severity: everywhere(Medium, Medium, Info),
		absent:   "the kernel counts no stolen time", ok: "at most 2 % of CPU time was taken, as far as the hypervisor tells",
		fix: remedy{run("vmstat", "5", "12").noting("column st; then ask the hypervisor's owner for reserved or unshared CPUs")},
		look: func(f *host.Facts, _ Role) view {
			if hv, ok := f.Virt.Hypervisor.Get(); ok && hv == "none" {
				return view{absent: "no hypervisor is below"}
			}
			share := func(v float64) string { return fmt.Sprintf("%.2f %% of CPU time since boot", 100*v) }
			v := see(readAs(f.Virt.Steal, share, func(v float64) bool { return v <= stealTolerated }), aside(f.Virt.Hypervisor))
			v.bad = "the hypervisor took " + v.readings[0].value
			return v
		},
	},
	{
		ID: "VRT-002", Subject: Degree, Title: "CPU quota smaller than the CPUs shown",
		Why: "A cgroup's quota stops all its threads for the rest of a 100 ms period once it is used up. A server that " +
			"sizes its threads by the CPUs it sees runs into the wall together, log writer included.",
		Source: "kernel documentation on CFS bandwidth control; the kernel's defaults for cgroups",
		Disagree: "A quota may be what was paid for. Then the server's degree of parallelism should match it; a cpuset of " +
			"whole CPUs gives the same share without the stalls.",
		Severity: everywhere(Medium, Medium, Info),
		absent:   "no cgroup limit is visible, or the number of CPUs is not known", ok: "the quota covers all CPUs that can be used",
		look: lookQuota,
	},
	{
		ID: "VRT-003", Subject: Degree, Title: "Affinity narrower than the online CPUs",
		Why: "A process inherits the set of CPUs it may run on. A shell, service or container that was confined hands its " +
			"limits to a server started from it, whose parallel work then shares a few CPUs while others idle.",
		Source: "kernel documentation on cpusets; sched_setaffinity(2)",
		Disagree: "Pinning may be meant, and better than a quota. Hostlab sees its own limits; those of a server started " +
			"elsewhere may differ.",
		Severity: everywhere(Low, Low, Info),
		absent:   "the CPUs online or allowed are not known", ok: "all online CPUs can be used",
		fix: remedy{script("taskset -pc $$"), remark("and of a running server: taskset -pc PID")},
		look: func(f *host.Facts, _ Role) view {
			online, allowed := f.Topology.Online, f.Limits.Affinity
			v := see(read(allowed, func(v []int) bool { return len(missing(online.Or(nil), v)) == 0 }).need(), needed(online))
			v.bad = fmt.Sprintf("this process may use %d of %s", len(allowed.Value), screen.Plural(len(online.Value), "online CPU", "online CPUs"))
			return v
		},
	},
	{
		ID: "VRT-004", Subject: Degree, Title: "CPUs switched off by hand",
		Why: "A CPU that is present and offline does no work, yet is paid for, and licences often count it. It is a usual " +
			"leftover of an experiment, of maxcpus= on the command line or of a power-saving script.",
		Source: "kernel documentation on CPU hotplug",
		Disagree: "Siblings that went offline because SMT is switched off are not counted: SMT-001 is about those. CPUs that " +
			"are merely possible (for hot-plugging) are not present and not counted either.",
		Severity: everywhere(Low, Low, Info),
		absent:   "the kernel does not list present and online CPUs", ok: "all present CPUs are online", look: lookOffline,
	},
}

// stealTolerated is the share of time below which stolen CPU is noise; hostlab
// repeats measurements above it too.
const stealTolerated = 0.02

func lookQuota(f *host.Facts, _ Role) view {
	list := f.Limits.Affinity
	if list.State != host.StateOK {
		list = f.Topology.Online
	}
	cpus := len(list.Or(nil))
	r := readAs(f.Limits.CPUQuota, func(v float64) string { return fmt.Sprintf("%g CPUs", v) }, atLeast(float64(cpus)))
	if version := whole(f.Limits.CgroupV); r.state == host.StateAbsent && version.state == host.StateOK {
		return view{readings: []reading{version}, ok: "no cgroup above this process has a CPU quota"}
	}
	v := see(r.need(), needed(list))
	v.bad = fmt.Sprintf("%s of quota, but threads may run on %s; seen from hostlab's own cgroup, a server's may differ",
		r.value, screen.Plural(cpus, "CPU", "CPUs"))
	v.fix = remedy{run("grep", "-H", "-e", "throttled", cpuStat(f.Limits.CPUQuota)),
		remark("raise the quota (systemctl set-property UNIT CPUQuota=, docker update --cpus), " +
			"or set the server's degree of parallelism to it")}
	return v
}

// cpuStat is the file beside the quota that counts the stops: version 1 has a
// directory for each controller, and a limit may be an ancestor's.
func cpuStat(quota host.Fact[float64]) string {
	dir := path.Dir(quota.Source)
	if !path.IsAbs(dir) || dir == "/" {
		dir = "/sys/fs/cgroup"
	}
	return dir + "/cpu.stat"
}

// missing are the members of a list that another lacks.
func missing(list, in []int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(c int) bool { return slices.Contains(in, c) })
}

func lookOffline(f *host.Facts, _ Role) view {
	online, present := f.Topology.Online, f.Topology.Present
	off := missing(present.Value, online.Value)
	r := read(online, func([]int) bool { return len(off) == 0 }).need()
	v := see(r, needed(present))
	// With SMT off at most one sibling of each online CPU is missing (two threads a core).
	if c := f.Topology.SMTControl.Or(""); (c == "off" || c == "forceoff") && len(off) > 0 && len(off) <= len(online.Value) {
		v = see(r, needed(present), aside(f.Topology.SMTControl))
		v.readings[0].bad, v.ok = false, "the offline CPUs are siblings, off because SMT is off"
	}
	v.bad = fmt.Sprintf("%s present and offline: %s", screen.Plural(len(off), "CPU is", "CPUs are"), host.FormatList(off))
	v.fix = remedy{write("1", "/sys/devices/system/cpu/cpu*/online")}
	return v
}
