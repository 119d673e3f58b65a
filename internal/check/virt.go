package check

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"hostlab/internal/clouds"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// smt holds the check of siblings.
var smt = []Check{
	{
		ID: "SMT-001", Subject: SMT, Title: "Siblings that share cores (SMT)",
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
		For:      anyServer,
		Severity: everywhere(Low, Low, Info),
		absent:   "the CPUs online or allowed are not known", ok: "all online CPUs can be used",
		look: lookAffinity, left: "it may be meant",
	},
	{
		ID: "VRT-004", Subject: Degree, Title: "CPUs switched off by hand",
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
		v.add(d, quota, aside(list), stops)
		if quota.bad || stops.bad {
			v.bad = fmt.Sprintf("%s has %s of quota, and its threads may run on %s", nameOf(d), quota.value,
				screen.Plural(cpus, "CPU", "CPUs"))
		}
		if stops.bad {
			v.bad += fmt.Sprintf("; it was stopped in %.2g %% of the periods since the group was made",
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
		if v.add(d, r); r.bad && v.bad == "" {
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

// cloudNetwork and cloudVolumes hold the checks of limits that a cloud counts for its guests.
var cloudNetwork = []Check{
	{
		ID: "NET-010", Title: "Packets held back by the cloud (ENA)",
		Severity: inProduction(Low, Info),
		absent:   "no network interface counts a cloud's limits; other clouds show them in their monitoring alone",
		ok:       "no limit held back a packet since the driver was loaded",
		bad:      "limits of the instance held back packets",
		left:     "it is bought from the cloud",
		look:     lookAllowances,
	},
}

func lookAllowances(f *host.Facts, _ Role) (v view) {
	if rs := hiddenDisks(f); rs != nil { // and with them all of /sys
		return see(rs...)
	}
	held := func(packets host.Fact[int64]) bool { return packets.Or(0) != 0 }
	var sold, tracked, fixed bool
	for _, n := range f.CloudNetworks {
		for _, fact := range []host.Fact[int64]{n.In, n.Out, n.Packets, n.Tracked, n.LinkLocal} {
			if fact.State != host.StateAbsent { // an old driver counts fewer
				v.readings = append(v.readings, read(fact, func(packets int64) bool { return packets == 0 }))
			}
		}
		tracked, fixed = tracked || held(n.Tracked), fixed || held(n.LinkLocal)
		sold = sold || tracked || held(n.In) || held(n.Out) || held(n.Packets)
	}
	if sold {
		v.fix = append(v.fix,
			remark("take an instance type with a larger network allowance, spread connections over several, or "+
				"keep them open"))
	}
	if tracked {
		v.fix = append(v.fix, remark(clouds.Untracked))
	}
	if fixed {
		v.fix = append(v.fix,
			remark("cache answers of DNS on this host: each interface may send 1,024 packets a second to DNS, "+
				"metadata and time services, in all instance types"))
	}
	return v
}

var cloudVolumes = []Check{
	{
		ID: "STO-015", Title: "Volumes asked for more than was bought (EBS)",
		Severity: inProduction(Low, Info),
		absent:   "no volume that counts its limits is seen; other clouds show such limits in their monitoring alone",
		ok:       "no volume was beyond a limit for more than a minute since it was attached",
		left:     "it is bought from the cloud",
		look:     lookVolumes,
		fix: remedy{run("lsblk", "-o",
			"NAME,SERIAL").noting("the serial number is the volume's ID; raise its IOPS or throughput " +
			"(aws ec2 modify-volume), or take an instance type with more for its volumes")},
	},
}

// longBeyond is for how long, in s, a volume may be beyond its limit before that is named.
const longBeyond = 60

func lookVolumes(f *host.Facts, _ Role) (v view) {
	if rs := hiddenDisks(f); rs != nil { // and with them all of /sys
		return see(rs...)
	}
	limits := []string{"the volume's limit of IOPS", "the volume's limit of throughput", "the instance's limit of IOPS",
		"the instance's limit of throughput"}
	for _, c := range f.CloudVolumes {
		for i, fact := range c.Exceeded() {
			if fact.State == host.StateAbsent { // a disk of the instance's host has no limit of a volume
				continue
			}
			r := readAs(fact, func(s float64) string { return result.Format(s, "s") },
				func(s float64) bool { return s <= longBeyond })
			if v.readings = append(v.readings, r); r.bad && v.bad == "" {
				v.bad = fmt.Sprintf("%s was asked for more than %s for %s since it was attached", c.Name, limits[i], r.value)
			}
		}
	}
	return v
}
