package check

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"hostlab/internal/host"
	"hostlab/internal/screen"
)

// smt holds the check of siblings.
var smt = []Check{
	{
		ID: "SMT-001", Subject: SMT, Title: "Siblings that share cores (SMT)",
		Covers: []string{"perfspect/Hyperthreading"},
		Why: "Two hardware threads of a core share its caches and issue slots. A sibling that scans memory can starve a " +
			"thread that takes locks; other loads gain from the second thread. Which of the two holds depends on the load " +
			"and the processor, so only a measurement can tell.",
		Source: "published lock/scan measurements with hyper-threading on SQL Server; PerfSpect (enabled); kernel " +
			"documentation on SMT control",
		Disagree: "PerfSpect recommends to enable it, whatever runs. Reports range from a tenth faster without SMT to a " +
			"fifth faster with it, so no value is recommended here. " +
			"Do not switch it off before measuring both throughputs.",
		Severity: everywhere(Info, Info, Info),
		absent:   "the kernel does not say whether SMT is in use",
		ok:       "no two online CPUs share a core, as far as the kernel knows",
		bad:      "siblings share cores; measure what a scanning sibling costs before deciding",
		fix:      remedy{run("hostlab", "assess")}, left: "decide by measurement",
		look: func(f *host.Facts, _ Role) view {
			control, active := aside(f.Topology.SMTControl), read(f.Topology.SMTActive, is(false))
			if control.value == "notsupported" {
				return view{readings: []reading{control}, absent: "the processor (or what the hypervisor shows of it) has no SMT"}
			}
			if active.state == host.StateAbsent { // a kernel that cannot switch SMT still lists threads
				active = read(coreOfMost(f), func(l []int) bool { return len(l) <= 1 })
			}
			return see(active, control)
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
		fix: remedy{run("vmstat", "5",
			"12").noting("column st; then ask the hypervisor's owner for reserved or unshared CPUs")},
		look: func(f *host.Facts, _ Role) view {
			share := func(v float64) string { return fmt.Sprintf("%.2f %% of CPU time since boot", 100*v) }
			v := see(readAs(f.Virt.Steal, share, func(v float64) bool { return v <= stealTolerated }), aside(f.Virt.Hypervisor))
			if hv, ok := f.Virt.Hypervisor.Get(); ok && hv == "none" {
				if !v.readings[0].bad {
					return view{absent: "no hypervisor is below"}
				}
				v.readings[0] = v.readings[0].open("it is not known who took " + v.readings[0].value +
					": the kernel counts it as stolen, and " +
					"no hypervisor is seen")
			}
			v.bad = "the hypervisor took " + v.readings[0].value
			return v
		},
	},
	{
		ID: "VRT-002", Subject: Degree, Title: "CPU quota that can stop a database",
		Why: "A cgroup's quota stops all its threads for the rest of a 100 ms period once it is used up. A server that " +
			"starts threads for all CPUs that it sees uses it up early, and then even its log writer waits.",
		Source: "kernel documentation on CFS bandwidth control and cgroup v2; the bound of 1 % of periods is hostlab's own",
		Disagree: "A quota may be what was paid for. Then the server's degree of parallelism should match it; a cpuset of " +
			"whole CPUs gives the same share without the stalls. A quota that has not stopped the server yet weighs little.",
		For:      anyServer,
		Severity: everywhere(Medium, Medium, Info),
		absent:   "no cgroup limit is visible, or the number of CPUs is not known",
		ok: "the quota covers all CPUs that the " +
			"server may use",
		look: lookQuota,
		fix: remedy{remark("raise the quota (systemctl set-property UNIT CPUQuota=, docker update --cpus), " +
			"or set the server's degree of parallelism to it")}, left: "it is the quota of a unit or container",
	},
	{
		ID: "VRT-003", Subject: Degree, Title: "Database confined to some of the CPUs",
		Why: "A process inherits the set of CPUs it may run on. A shell, service or container that was confined hands its " +
			"limits to a server started from it, whose parallel work then shares a few CPUs while others idle.",
		Source:   "kernel documentation on cpusets; sched_setaffinity(2)",
		Disagree: "Pinning may be meant, and better than a quota: several servers on one host, or one to a memory node.",
		For:      anyServer,
		Severity: everywhere(Low, Low, Info),
		absent:   "the CPUs online or allowed are not known", ok: "all online CPUs can be used",
		look: lookAffinity, left: "it may be meant",
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

// throttledTolerated is the share of periods below which a quota that stops a server is noise.
const throttledTolerated = 0.01

func lookQuota(f *host.Facts, _ Role) (v view) {
	stopped := false
	for _, d := range servers(f) {
		l := d.Limits
		list := l.Affinity
		if list.State != host.StateOK {
			list = f.Topology.Online
		}
		cpus := len(list.Or(nil))
		quota := readAs(l.CPUQuota, func(v float64) string { return fmt.Sprintf("%g CPUs", v) }, atLeast(float64(cpus)))
		if version := whole(l.CgroupV); quota.state == host.StateAbsent && version.state == host.StateOK {
			version.value = "no CPU quota"
			v.readings, v.ok = append(v.readings, version), "no cgroup of the server that is in sight has a CPU quota"
			continue
		}
		periods := l.CPUPeriods.Or(0)
		stops := readAs(l.CPUThrottled, func(n int64) string { return fmt.Sprintf("%d of %d periods", n, periods) },
			func(n int64) bool { return float64(n) <= throttledTolerated*float64(periods) })
		if whole(list).state != host.StateOK || quota.unknown() {
			stops.context = !stops.bad
		}
		if quota.state == host.StateOK && whole(list).state != host.StateOK {
			quota.context = true // against which it could be judged
			v.readings = append(v.readings, quota, whole(list), stops)
			continue
		}
		v.readings = append(v.readings, quota, aside(list), stops)
		if quota.bad || stops.bad {
			v.bad = fmt.Sprintf("%s has %s of quota, and its threads may run on %s", nameOf(d), quota.value,
				screen.Plural(cpus, "CPU", "CPUs"))
		}
		if stops.bad {
			v.bad += fmt.Sprintf("; it was stopped in %.2g %% of the periods",
				100*float64(l.CPUThrottled.Value)/float64(max(periods, 1)))
			stopped = true
		}
		if v.fix == nil && (quota.bad || stops.bad) {
			v.fix = remedy{run("grep", "-H", "-e", "throttled", cpuStat(l.CPUQuota)),
				remark("raise the quota (systemctl set-property UNIT CPUQuota=, docker update --cpus), " +
					"or set the server's degree of parallelism to it")}
		}
	}
	if !stopped {
		return v.atMost(Low)
	}
	return v
}

func lookAffinity(f *host.Facts, _ Role) (v view) {
	online := f.Topology.Online
	for _, d := range servers(f) {
		if d.PID == 0 {
			continue
		}
		allowed := d.Limits.Affinity
		r := read(allowed, func(v []int) bool { return len(missing(online.Or(nil), v)) == 0 })
		if v.readings = append(v.readings, r); r.bad && v.bad == "" {
			lacks := missing(online.Value, allowed.Value)
			elsewhere := missing(lacks, f.Topology.Isolated.Or(nil))
			v.bad = fmt.Sprintf("%s may use %d of %s", nameOf(d), len(allowed.Value),
				screen.Plural(len(online.Value), "online CPU", "online CPUs"))
			v.fix = remedy{run("taskset", "-pc", strconv.Itoa(d.PID))}
			if n := len(lacks) - len(elsewhere); n > 0 {
				v.bad += fmt.Sprintf("; the kernel isolates %s, which only programs that ask for them use",
					host.FormatList(missing(lacks, elsewhere)))
				v.fix = append(v.fix,
					script(`grep -o 'isolcpus=[^ ]*' /proc/cmdline`).noting("take it away, or a cpuset's isolated "+
						"partition, unless another program needs these CPUs"))
			}
			if len(elsewhere) > 0 {
				v.fix = append(v.fix,
					remark("look for CPUAffinity= and AllowedCPUs= of its unit, numactl and taskset in its start "+
						"script, and the container's cpuset"))
			}
		}
	}
	v.readings = append(v.readings, needed(online))
	if whole(f.Topology.Isolated).state != host.StateAbsent && len(f.Topology.Isolated.Value) > 0 {
		v.readings = append(v.readings, aside(f.Topology.Isolated))
	}
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
	if idle := offBySMT(f, off); len(idle) > 0 {
		v.readings = append(v.readings, aside(f.Topology.SMTControl))
		if off = missing(off, idle); len(off) == 0 {
			v.readings[0].bad, v.ok = false, "the offline CPUs are siblings, off because SMT is off or limited"
		}
	}
	v.bad = fmt.Sprintf("%s present and offline: %s", screen.Plural(len(off), "CPU is", "CPUs are"), host.FormatList(off))
	v.fix = remedy{script(
		"sudo dmesg | grep -i -e mce -e 'hardware error' -e offlin").noting("a CPU may be off for its errors, " +
		"or for a licence: ask first"),
		into("1", onlineFiles(off)...), remark("a boot brings them back by itself, unless maxcpus= or a script takes them " +
			"away")}
	return v
}

// onlineFiles are the switches of CPUs.
func onlineFiles(cpus []int) (files []string) {
	for _, c := range cpus {
		files = append(files, fmt.Sprintf("/sys/devices/system/cpu/cpu%d/online", c))
	}
	return files
}
