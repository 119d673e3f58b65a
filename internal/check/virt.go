package check

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/screen"
)

// stealTolerated is the share of time below which stolen CPU is noise; hostlab
// repeats measurements above it too.
const stealTolerated = 0.02

var steal = Check{
	ID: "VRT-001", Lever: LeverDegree, Title: "CPU time taken by the hypervisor (steal)",
	Why: "Steal is time in which a virtual CPU was ready to run and the hypervisor ran something else. The guest counts " +
		"it as its own delay: response times vary with the neighbours' load, and a lock holder that is taken off its " +
		"CPU stops all who wait for it.",
	Source: "kernel documentation on /proc/stat; the bound of 2 % is hostlab's own",
	Disagree: "Many monitoring rules tolerate 5 to 10 %, which is late for a database. The share here is since boot, so " +
		"a recent change shows late; a hypervisor may also hide it, so 0 proves little.",
	Severity: everywhere(Medium, Medium, Info),
	Look: func(f *host.Facts, _ Role) Outcome {
		if hv, ok := f.Virt.Hypervisor.Get(); ok && hv == "none" {
			return notApplicable("no hypervisor is below")
		}
		share := func(v float64) string { return fmt.Sprintf("%.2f %% of CPU time since boot", 100*v) }
		r := readAs(f.Virt.Steal, share, func(v float64) bool { return v <= stealTolerated })
		return judge([]reading{r, aside(f.Virt.Hypervisor)}, answers{
			absent: "the kernel counts no stolen time",
			ok:     "at most 2 % of CPU time was taken, as far as the hypervisor tells",
			bad: func(bad []reading) (string, string) {
				return "the hypervisor took " + bad[0].value,
					"vmstat 5 12 # column st; then ask the hypervisor's owner for reserved or unshared CPUs"
			},
		})
	},
}

var cpuQuota = Check{
	ID: "VRT-002", Lever: LeverDegree, Title: "CPU quota smaller than the CPUs shown",
	Why: "A cgroup's quota stops all its threads for the rest of a 100 ms period once it is used up. A server that " +
		"sizes its threads by the CPUs it sees runs into the wall together, log writer included.",
	Source: "kernel documentation on CFS bandwidth control; the kernel's defaults for cgroups",
	Disagree: "A quota may be what was paid for. Then the server's degree of parallelism should match it; a cpuset of " +
		"whole CPUs gives the same share without the stalls.",
	Severity: everywhere(Medium, Medium, Info),
	Look:     lookQuota,
}

func lookQuota(f *host.Facts, _ Role) Outcome {
	list := f.Limits.Affinity
	if list.State != host.StateOK {
		list = f.Topology.Online
	}
	cpus := len(list.Or(nil))
	r := readAs(f.Limits.CPUQuota, func(v float64) string { return fmt.Sprintf("%g CPUs", v) },
		func(v float64) bool { return v >= float64(cpus) })
	if version := whole(f.Limits.CgroupV); r.state == host.StateAbsent && version.state == host.StateOK {
		return Outcome{Status: OK, Evidence: group([]reading{version}), Detail: "no cgroup above this process has a CPU quota"}
	}
	if o, stop := need("no cgroup limit is visible, or the number of CPUs is not known", r, whole(list)); stop {
		return o
	}
	return judge([]reading{r, aside(list)}, answers{
		ok: "the quota covers all CPUs that can be used",
		bad: func(bad []reading) (string, string) {
			return fmt.Sprintf("%s of quota, but threads may run on %s; seen from hostlab's own cgroup, a server's may differ",
					bad[0].value, count(cpus, "CPU", "CPUs")),
				"grep -H -e throttled " + screen.Word(cpuStat(f.Limits.CPUQuota)) + "\n" +
					"# raise the quota (systemctl set-property UNIT CPUQuota=, docker update --cpus), " +
					"or set the server's degree of parallelism to it"
		},
	})
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

var affinity = Check{
	ID: "VRT-003", Lever: LeverDegree, Title: "Affinity narrower than the online CPUs",
	Why: "A process inherits the set of CPUs it may run on. A shell, service or container that was confined hands its " +
		"limits to a server started from it, whose parallel work then shares a few CPUs while others idle.",
	Source: "kernel documentation on cpusets; sched_setaffinity(2)",
	Disagree: "Pinning may be meant, and better than a quota. Hostlab sees its own limits; those of a server started " +
		"elsewhere may differ.",
	Severity: everywhere(Low, Low, Info),
	Look: func(f *host.Facts, _ Role) Outcome {
		online, allowed := f.Topology.Online, f.Limits.Affinity
		all := whole(online)
		r := read(allowed, func(v []int) bool {
			for _, c := range online.Or(nil) {
				if !slices.Contains(v, c) {
					return false
				}
			}
			return true
		})
		if o, stop := need("the CPUs online or allowed are not known", r, all); stop {
			return o
		}
		all.context = true
		return judge([]reading{r, all}, answers{
			ok: "all online CPUs can be used",
			bad: func([]reading) (string, string) {
				return fmt.Sprintf("this process may use %d of %s", len(allowed.Value), count(len(online.Value), "online CPU", "online CPUs")),
					"taskset -pc $$\n# and of a running server: taskset -pc PID"
			},
		})
	},
}

var offline = Check{
	ID: "VRT-004", Lever: LeverDegree, Title: "CPUs switched off by hand",
	Why: "A CPU that is present and offline does no work, yet is paid for, and licences often count it. It is a usual " +
		"leftover of an experiment, of maxcpus= on the command line or of a power-saving script.",
	Source: "kernel documentation on CPU hotplug",
	Disagree: "Siblings that went offline because SMT is switched off are not counted: SMT-001 is about those. CPUs that " +
		"are merely possible (for hot-plugging) are not present and not counted either.",
	Severity: everywhere(Low, Low, Info),
	Look:     lookOffline,
}

func lookOffline(f *host.Facts, _ Role) Outcome {
	present, online := whole(f.Topology.Present), whole(f.Topology.Online)
	if o, stop := need("the kernel does not list present and online CPUs", present, online); stop {
		return o
	}
	var off []int
	for _, c := range f.Topology.Present.Value {
		if !slices.Contains(f.Topology.Online.Value, c) {
			off = append(off, c)
		}
	}
	ok := "all present CPUs are online"
	online.bad = len(off) > 0
	rs := []reading{online, present}
	// With SMT off at most one sibling of each online CPU is missing (two threads a core).
	if c := f.Topology.SMTControl.Or(""); (c == "off" || c == "forceoff") && len(off) > 0 && len(off) <= len(f.Topology.Online.Value) {
		online.bad, ok = false, "the offline CPUs are siblings, off because SMT is off"
		rs = []reading{online, present, aside(f.Topology.SMTControl)}
	}
	rs[1].context = true
	rs[0] = online
	return judge(rs, answers{
		ok: ok,
		bad: func([]reading) (string, string) {
			return fmt.Sprintf("%s present and offline: %s", count(len(off), "CPU is", "CPUs are"), host.FormatList(off)),
				"for c in " + sequence(off) + "; do echo 1 | sudo tee /sys/devices/system/cpu/cpu$c/online; done"
		},
	})
}

// sequence writes CPU numbers as words for a shell loop, runs of them by seq.
func sequence(list []int) string {
	var out []string
	for part := range strings.SplitSeq(host.FormatList(list), ",") {
		if lo, hi, run := strings.Cut(part, "-"); run {
			part = "$(seq " + lo + " " + hi + ")"
		}
		out = append(out, part)
	}
	return strings.Join(out, " ")
}
