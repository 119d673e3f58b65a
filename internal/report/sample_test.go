// This file makes assessments to render in tests and to look at: a small
// cloud guest with half of the knobs hidden, and a two-socket host with 512 CPUs.

package report_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/probe"
	"hostlab/internal/report"
	"hostlab/internal/result"
)

// Guest is a database server in a cloud guest with two CPUs.
func Guest() *report.Assessment {
	return assemble("db01.example.com", guestFacts(), guestResults(), guestRuns())
}

// Big is a two-socket host with 512 CPUs, on which everything can be seen.
func Big() *report.Assessment {
	return assemble("hana-prod-7", bigFacts(), bigResults(), bigRuns())
}

// Hostile is Guest with markup and control characters wherever text from the
// host can appear.
func Hostile() *report.Assessment {
	const evil = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x1b[31m"
	f := guestFacts()
	f.Identity.Hostname = host.Known(evil, "", "uname")
	f.Identity.CPUModel = host.Known(evil, "", "/proc/cpuinfo")
	f.Storage[0].Path = "/" + evil
	f.Storage[0].Device = host.Known(evil, "", evil)
	f.Idle.Driver = host.Unknown[string](evil, fs.ErrPermission)
	rs := guestResults()
	rs[0].Title, rs[0].Detail, rs[0].Remedy, rs[0].Evidence[0].Value = evil, evil, evil, evil
	runs := guestRuns()
	runs[0].Title, runs[0].Method, runs[0].Warnings = evil, evil, []string{evil}
	runs[0].Measurements[0].Title, runs[0].Measurements[0].Labels.Class = evil, evil
	runs[2].Distributions[0].Title = evil
	a := assemble(evil, f, rs, runs)
	a.Warnings = append(a.Warnings, evil)
	return a
}

func assemble(name string, f *host.Facts, rs []check.Result, runs []probe.Outcome) *report.Assessment {
	a := &report.Assessment{
		Schema: report.Schema, Tool: "v0.1.0", Started: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC), Seconds: 61.4,
		Host: name, Role: check.ProductionDB, Facts: f, Results: rs, Runs: runs,
	}
	for _, o := range runs {
		a.Probes = append(a.Probes, o.Measurements...)
	}
	a.Levers, a.Verdict.Text = lever.Platform(a.Role, f, rs, runs)
	return a
}

func known[T any](v T, source string) host.Fact[T] { return host.Known(v, "", source) }

func absent[T any](source string) host.Fact[T] { return host.Unknown[T](source, fs.ErrNotExist) }

func measured(probeName, name, title, unit string, v, lo, hi float64, n int, floor float64,
	labels map[string]string) result.Measurement {
	m := result.Measurement{Probe: probeName, Kind: kind(name), Name: name, Title: title, Unit: unit, NoiseFloor: floor,
		Evidence: result.Measured, Estimate: &result.Estimate{Value: v, Low: lo, High: hi, N: n}}
	text, err := json.Marshal(labels)
	if err == nil {
		err = json.Unmarshal(text, &m.Labels)
	}
	if err != nil {
		panic(err)
	}
	return m
}

// kind is a name without what tells measurements of one kind apart.
func kind(name string) result.Kind {
	return result.Kind(regexp.MustCompile(`(\.(\d+ms|\d+|cpu\d+(-cpu\d+)?))+$`).ReplaceAllString(name, ""))
}

// wakeup makes the wake-up probe's numbers for some CPUs; worst is the penalty of
// the shortest arithmetic slice.
func wakeup(cpus []int, worst float64) probe.Outcome {
	o := probe.Outcome{Probe: "wakeup", Title: "Wake-up penalty", Seconds: 24.8,
		Method: "A fixed slice of dependent work runs right after 100 ms of sleep and again within a busy stretch, in random order " +
			"within each round. The ratio of the two times is what the power policy costs a burst at low load. The arithmetic slice " +
			"stays in registers and so shows the clock; the mixed slice also reads memory and so shows cold caches.",
		Warnings: []string{"4 rounds in which other processes ran on the CPU were measured again"}}
	for _, cpu := range cpus {
		l := func(more ...string) map[string]string {
			m := map[string]string{"cpu": fmt.Sprint(cpu), "class": "all"}
			for i := 0; i < len(more); i += 2 {
				m[more[i]] = more[i+1]
			}
			return m
		}
		o.Measurements = append(o.Measurements, measured("wakeup", fmt.Sprintf("wakeup.cold.10ms.cpu%d", cpu),
			fmt.Sprintf("10 ms burst that reads three quarters of the L2 cache after 100 ms asleep, beyond arithmetic, CPU %d",
				cpu), "ratio", 1.02, 0.99, 1.04, 24, 0.018, l("kernel", "cold", "slice", "0.010", "loss", "0.0002")),
			measured("wakeup", fmt.Sprintf("wakeup.latency.p50.cpu%d", cpu),
				fmt.Sprintf("lateness of a wake-up after 100 ms asleep, median, CPU %d", cpu), "s", 61e-6, 55e-6, 66e-6, 40,
				math.NaN(), l("kernel", "latency")), measured("wakeup", fmt.Sprintf("wakeup.latency.floor.cpu%d", cpu),
				fmt.Sprintf("the same for a thread that spins, CPU %d", cpu), "s", 90e-9, 80e-9, 110e-9, 40, math.NaN(),
				l("kernel", "latency")))
		for _, kernel := range []string{"alu", "mixed"} {
			for i, slice := range []string{"10ms", "30ms", "100ms"} {
				r := 1 + (worst-1)/float64(1+2*i)
				if kernel == "mixed" {
					r += 0.09 / float64(1+i)
				}
				r += 0.004 * float64(cpu%5)
				o.Measurements = append(o.Measurements, measured("wakeup", fmt.Sprintf("wakeup.%s.%s.cpu%d", kernel, slice, cpu),
					fmt.Sprintf("%s of %s after 100 ms asleep, against awake, CPU %d", []string{"10 ms", "30 ms", "100 ms"}[i],
						map[string]string{"alu": "arithmetic", "mixed": "mixed work"}[kernel], cpu),
					"ratio", r, r-0.03, r+0.045, 24, 0.018,
					map[string]string{"cpu": fmt.Sprint(cpu), "class": "all", "slice": []string{"0.010", "0.030", "0.100"}[i],
						"kernel": kernel}))
			}
		}
	}
	return o
}

func commit(log, mem float64) probe.Outcome {
	o := probe.Outcome{Probe: "commit", Title: "Durable 4 KiB appends", Seconds: 12.1,
		Method: "4 KiB are appended to a preallocated file and made durable with fdatasync, in blocks that alternate between the log " +
			"directory and a memory file system. Memory forgets at a power cut: it bounds what any device could give."}
	for _, d := range []struct {
		dev, name, where string
		median           float64
	}{{"log-dir", "commit", "on the log directory", log}, {"memory", "commit.memory", "in memory", mem}} {
		l := map[string]string{"device": d.dev}
		l["commits"], l["seconds"], l["layout"] = "8192", "11.6", "allocated"
		for _, q := range []struct {
			name   string
			factor float64
		}{{"mean", 1.3}, {"p99", 3.4}, {"p50", 1}, {"max", 41}, {"overwritten.mean", 0.7}, {"overwritten.p99", 2.1},
			{"overwritten.p50", 0.58}} {
			recycled := strings.HasPrefix(q.name, "overwritten.")
			if recycled && d.dev == "memory" {
				continue
			}
			m := measured("commit", d.name+"."+q.name, q.name+" of a commit "+d.where, "s", d.median*q.factor,
				d.median*q.factor*0.96, d.median*q.factor*1.07, 412, math.NaN(), maps.Clone(l))
			if recycled {
				m.Labels.Layout = "overwritten"
			}
			if q.name == "max" {
				m.Estimate.Low, m.Estimate.High = math.NaN(), math.NaN()
			}
			o.Measurements = append(o.Measurements, m)
		}
		dist := result.Distribution{Name: d.name, Title: "Commits " + d.where, Unit: "s"}
		for e := -7.0; e < -1.4; e += 0.05 {
			edge := math.Pow(10, e)
			z := (e - math.Log10(d.median)) / 0.12
			tail := (e - math.Log10(d.median*3)) / 0.3
			dist.Edge = append(dist.Edge, edge)
			dist.Count = append(dist.Count, int(900*math.Exp(-z*z/2)+25*math.Exp(-tail*tail/2)))
		}
		o.Distributions = append(o.Distributions, dist)
	}
	moved := measured("commit", "commit.drift", "mean commit in the last third of the time over that in the first",
		"ratio", 1.4, 1.3, 1.5, 16, math.NaN(), map[string]string{"drift": "true"})
	moved.Warnings = []string{"the device was not the same all the time: the mean commit took 48.0 us at first and 67.0 us at last"}
	o.Measurements = append(o.Measurements, moved)
	g := mem / (0.58 * log)
	o.Measurements = append(o.Measurements, measured("commit", "commit.gain",
		"median in memory over median in the log directory", "ratio", g, g*0.95, g*1.06, 32, 0.03, nil))
	return o
}

func degree(degrees []int, serial float64) probe.Outcome {
	o := probe.Outcome{Probe: "degree", Title: "Degree of parallelism", Seconds: 15.2,
		Method: "A CPU-bound query over generated XML rows that are all in memory, shredded and summed at each degree, in random " +
			"order within rounds. Speed-up is the time at degree 1 over the time at the degree."}
	for _, d := range degrees {
		s := 1 / (serial + (1-serial)/float64(d))
		l := map[string]string{"degree": fmt.Sprint(d)}
		o.Measurements = append(o.Measurements,
			measured("degree", fmt.Sprintf("degree.speedup.%d", d), fmt.Sprintf("speed-up at degree %d", d), "ratio", s, s*0.95,
				s*1.04, 12, 0.02, l),
			measured("degree", fmt.Sprintf("degree.efficiency.%d", d), fmt.Sprintf("efficiency at degree %d", d), "ratio",
				s/float64(d), s/float64(d)*0.95, s/float64(d)*1.04, 12, 0.02, l))
	}
	return o
}

func guestRuns() []probe.Outcome {
	sib := probe.Outcome{Probe: "siblings", Title: "Siblings", Seconds: 9.3,
		Method: "Short chunks of a kernel that fills one core's execution ports are timed alone and together with the same on " +
			"another CPU. Two CPUs that share a core slow each other down.",
		Warnings: []string{"the placement of a guest can change under it"},
		Pairs:    []probe.PairResult{{A: 0, B: 1, Relation: "separate"}}}
	pair := map[string]string{"cpu_a": "0", "cpu_b": "1"}
	sib.Measurements = []result.Measurement{
		measured("siblings", "siblings.slowdown.cpu0-cpu1", "slow-down of CPU 0 and 1 together", "ratio", 1.01, 0.98, 1.04,
			30, 0.02, pair),
		measured("siblings", "siblings.pingpong.cpu0-cpu1", "cache line between CPU 0 and 1", "s", 72e-9, 66e-9, 81e-9, 30,
			math.NaN(), pair),
	}
	for _, n := range []string{"sibling", "other"} {
		sib.Measurements = append(sib.Measurements, result.Measurement{Probe: "siblings",
			Kind: result.Kind("siblings.harm." + n), Name: "siblings.harm." + n, Unit: "ratio",
			Title: "lock acquisitions with a scan on the " + n + ", against alone", NoiseFloor: math.NaN(),
			Evidence: result.Measured, Reason: "no two CPUs share a core"})
	}
	query := degree([]int{2}, 0.01)
	query.Busy = 0.12
	for i := range query.Measurements {
		query.Measurements[i].Labels.Disturbed = "others took more than 2 % of the CPUs in 9 of 12 rounds"
	}
	return []probe.Outcome{wakeup([]int{0, 1}, 1.42), sib, commit(81e-6, 3.4e-6), query}
}

func bigRuns() []probe.Outcome {
	sib := probe.Outcome{Probe: "siblings", Title: "Siblings", Seconds: 9.3,
		Method: "Short chunks of a kernel that fills one core's execution ports are timed alone and together with the same on " +
			"another CPU.",
		Pairs: []probe.PairResult{{A: 0, B: 256, Reported: true, Relation: "siblings"}, {A: 0, B: 1, Relation: "separate"},
			{A: 9, B: 265, Reported: true, Relation: "unknown"}}}
	sib.Measurements = []result.Measurement{
		measured("siblings", "siblings.slowdown.cpu0-cpu256", "slow-down of CPU 0 and 256 together", "ratio", 1.62, 1.57,
			1.66, 30, 0.02, map[string]string{"cpu_a": "0", "cpu_b": "256"}),
		measured("siblings", "siblings.slowdown.cpu0-cpu1", "slow-down of CPU 0 and 1 together", "ratio", 1.0, 0.99, 1.01, 30,
			0.02, map[string]string{"cpu_a": "0", "cpu_b": "1"}),
		measured("siblings", "siblings.harm.sibling", "lock acquisitions with a scan on the sibling, against alone", "ratio",
			0.55, 0.51, 0.58, 15, 0.02, nil),
		measured("siblings", "siblings.harm.other", "lock acquisitions with a scan on another core, against alone",
			"ratio", 0.98, 0.96, 1.0, 15, 0.02, nil),
	}
	return []probe.Outcome{wakeup([]int{0, 37, 74, 111, 148, 185, 222, 300}, 1.02), sib, commit(24e-6, 2.1e-6),
		degree([]int{2, 4, 8, 16, 32, 64, 128, 256, 512}, 0.003)}
}

func guestFacts() *host.Facts {
	const cpu = "/sys/devices/system/cpu/"
	f := &host.Facts{Schema: 1, Identity: host.Identity{Hostname: known("db01.example.com", "uname"),
		OS:     known("Debian GNU/Linux 12 (bookworm)", "/etc/os-release"),
		Kernel: known("6.12.48+deb12-cloud-amd64", "uname"), Arch: known("amd64", "uname"),
		CPUModel: known("AMD EPYC 7B13", "/proc/cpuinfo"), CPUVendor: known("AuthenticAMD", "/proc/cpuinfo"),
		Product:      known("Google Compute Engine", "/sys/class/dmi/id/product_name"),
		Microcode:    absent[string]("/sys/devices/system/cpu/cpu0/microcode/version"),
		ClockTicksHz: host.Known[int64](250, "Hz", "/boot/config")},
		Topology: host.Topology{Online: known([]int{0, 1}, cpu+"online"), Sockets: known(1, cpu), Cores: known(2, cpu),
			Threads:    known(2, cpu),
			SMTControl: known("notsupported", cpu+"smt/control"), SMTActive: known(false, cpu+"smt/active"),
			CoreTypes: []host.CoreType{{Name: "all", CPUs: []int{0, 1}}},
			Caches:    []host.Cache{{Level: 3, Type: "Unified", Size: host.Known[int64](32<<20, "B", cpu), CPUs: []int{0, 1}}}},
		Idle: host.Idle{Driver: absent[string](cpu + "cpuidle/current_driver")},
		Memory: host.Memory{Total: host.Known[int64](8<<30, "B", "/proc/meminfo"),
			Swappiness: known[int64](60, "/proc/sys/vm/swappiness"),
			THPEnabled: known(host.Choice{Active: "always", Offers: []string{"always", "madvise", "never"}},
				"/sys/kernel/mm/transparent_hugepage/enabled")},
		Kernel: host.Kernel{Cmdline: known("BOOT_IMAGE=/boot/vmlinuz root=/dev/vda1 ro console=ttyS0,115200",
			"/proc/cmdline"), Clocksource: known("kvm-clock", "/sys/devices/system/clocksource"),
			Mitigations: []host.Mitigation{{Name: "retbleed", Text: known("Mitigation: untrained return thunk", cpu)}}},
		Virt: host.Virt{Hypervisor: known("kvm", "/sys/class/dmi"), Container: known("none", "/proc/1"),
			Steal: known(0.013, "/proc/stat")}, Storage: []host.Storage{{Path: "/var/lib/postgresql", Purpose: "log-dir",
			FSType: known("ext4", "/proc/self/mountinfo"), Device: known("/dev/vda1", "/proc/self/mountinfo"),
			Options: known("rw,relatime", "/proc/self/mountinfo"), Class: known("virtual", "/sys/block"),
			FreeBytes: host.Known[int64](41<<30, "B", "statfs"), Stack: []host.StackLayer{{Name: "vda1", Kind: "partition"},
				{Name: "vda", Kind: "virtio", Depth: 1, Queue: &host.BlockDevice{Name: "vda",
					Scheduler: known(host.Choice{Active: "mq-deadline", Offers: []string{"none", "mq-deadline"}},
						"/sys/block/vda/queue/scheduler"), WriteCache: known("write back", "/sys/block/vda/queue/write_cache")}}}}},
		Databases: []host.Database{{Kind: "postgresql", PID: 812,
			DataDir: known("/var/lib/postgresql/15/main", "/proc/812/cmdline")}}}
	for i := range 2 {
		src := fmt.Sprintf("%scpu%d/topology", cpu, i)
		f.Topology.CPUs = append(f.Topology.CPUs, host.CPU{ID: i, Socket: known(0, src), Core: known(i, src),
			Siblings: known([]int{i}, src), CoreType: "all", NUMANode: known(0, src)})
		f.Frequency.Current = append(f.Frequency.Current, host.CPUCurrent{CPU: i, Frequency: absent[int64](src),
			Percent: absent[float64](src)})
	}
	return f
}

func bigFacts() *host.Facts {
	const cpu = "/sys/devices/system/cpu/"
	f := guestFacts()
	f.Identity.CPUModel = known("AMD EPYC 9755 128-Core Processor", "/proc/cpuinfo")
	f.Identity.OS, f.Identity.Kernel = known("SUSE Linux Enterprise Server 15 SP6", "/etc/os-release"),
		known("6.4.0-150600.23-default", "uname")
	f.Virt = host.Virt{Hypervisor: known("none", cpu), Container: known("none", cpu)}
	f.Memory.Total = host.Known[int64](4<<40, "B", "/proc/meminfo")
	t := &f.Topology
	t.Sockets, t.Cores, t.Threads, t.SMTActive = known(2, cpu), known(256, cpu), known(512, cpu), known(true, cpu)
	t.CPUs, t.Caches, f.Frequency.Current = nil, nil, nil
	f.Storage[0].Device, f.Storage[0].Class, f.Storage[0].FSType = known("/dev/mapper/vg0-log", "/proc/self/mountinfo"),
		known("nvme", "/sys/block"), known("xfs", "/proc/self/mountinfo")
	var all []int
	for i := range 512 {
		all = append(all, i)
		core := i % 256
		src := fmt.Sprintf("%scpu%d/topology/", cpu, i)
		t.CPUs = append(t.CPUs, host.CPU{ID: i, Socket: known(core/128, src+"physical_package_id"),
			Die: known(0, src+"die_id"), Cluster: absent[int](src + "cluster_id"), Core: known(core%128, src+"core_id"),
			Siblings: known([]int{core, core + 256}, src+"thread_siblings_list"), NUMANode: known(core/128, src),
			CoreType: "all"})
		pol := fmt.Sprintf("%scpufreq/policy%d/", cpu, i)
		hz := 1_500_000_000 + 2_600_000_000*int64((i*7919)%97)/97
		f.Frequency.Policies = append(f.Frequency.Policies, host.Policy{ID: i, CPUs: known([]int{i}, pol+"related_cpus"),
			Affected: known([]int{i}, pol+"affected_cpus"), Domain: known([]int{i}, pol+"freqdomain_cpus"),
			Driver: known("amd-pstate-epp", pol+"scaling_driver"), Governor: known("powersave", pol+"scaling_governor"),
			Governors: known("performance powersave", pol+"scaling_available_governors"),
			HWMin:     host.Known[int64](1_500_000_000, "Hz", pol+"cpuinfo_min_freq"),
			HWMax:     host.Known[int64](4_100_000_000, "Hz", pol+"cpuinfo_max_freq"),
			Base:      absent[int64](pol + "base_frequency"),
			Min:       host.Known[int64](1_500_000_000, "Hz", pol+"scaling_min_freq"),
			Max:       host.Known[int64](4_100_000_000, "Hz", pol+"scaling_max_freq"), BIOSLimit: absent[int64](pol + "bios_limit"),
			Latency: host.Known(20e-6, "s", pol+"cpuinfo_transition_latency"),
			PStates: absent[[]int64](pol + "scaling_available_frequencies"),
			EPP:     known("balance_performance", pol+"energy_performance_preference"),
			EPPs: known("default performance balance_performance balance_power power",
				pol+"energy_performance_available_preferences"), Boost: known(true, pol+"boost"), Scope: "thread"})
		f.Frequency.Current = append(f.Frequency.Current, host.CPUCurrent{CPU: i,
			Frequency: host.Known(hz, "Hz", pol+"scaling_cur_freq"),
			Percent:   known(float64(hz)/4.1e9*100, pol+"scaling_cur_freq")})
		f.Idle.Resume = append(f.Idle.Resume, host.CPUValue[float64]{CPU: i,
			Value: absent[float64](fmt.Sprintf("%scpu%d/power/pm_qos_resume_latency_us", cpu, i))})
	}
	t.Online, t.CoreTypes = known(all, cpu+"online"), []host.CoreType{{Name: "all", CPUs: all}}
	cache := func(level int, kind string, size int64, cpus []int) host.Cache {
		src := fmt.Sprintf("%scpu%d/cache/index%d/", cpu, cpus[0], level)
		return host.Cache{Level: level, Type: kind, Size: host.Known(size, "B", src+"size"),
			Line: host.Known[int64](64, "B", src+"coherency_line_size"), CPUs: cpus,
			Ways: known[int64](16, src+"ways_of_associativity")}
	}
	for core := range 256 {
		two := []int{core, core + 256}
		t.Caches = append(t.Caches, cache(1, "Data", 48<<10, two), cache(1, "Instruction", 32<<10, two),
			cache(2, "Unified", 1<<20, two))
	}
	for g := range 32 {
		var cpus []int
		for i := range 8 {
			cpus = append(cpus, g*8+i, g*8+i+256)
		}
		slices.Sort(cpus)
		t.Caches = append(t.Caches, cache(3, "Unified", 32<<20, cpus))
	}
	for n := range 2 {
		t.NUMA = append(t.NUMA, host.NUMANode{ID: n, CPUs: known(slices.Concat(all[n*128:n*128+128],
			all[256+n*128:384+n*128]),
			"/sys/devices/system/node"), Memory: host.Known[int64](2<<40, "B", "/sys/devices/system/node"),
			Distance: known([]int{10 + 22*n, 32 - 22*n}, "/sys/devices/system/node")})
	}
	f.Idle.Driver = known("acpi_idle", cpu+"cpuidle/current_driver")
	f.Idle.States = []host.IdleState{
		{Index: 0, Name: known("POLL", cpu), Latency: host.Known(0.0, "s", cpu), CPUs: all},
		{Index: 1, Name: known("C1", cpu), Latency: host.Known(1e-6, "s", cpu), Residency: host.Known(2e-6, "s", cpu),
			CPUs: all},
		{Index: 2, Name: known("C2", cpu), Latency: host.Known(350e-6, "s", cpu), Residency: host.Known(700e-6, "s", cpu),
			CPUs: all},
	}
	return f
}

func guestResults() []check.Result {
	return []check.Result{
		{ID: "MEM-001", Title: "Transparent huge pages are always on", Severity: check.High, Status: check.Finding,
			Detail: "transparent huge pages: always", Subject: check.Memory,
			Evidence: []check.Evidence{{Path: "/sys/kernel/mm/transparent_hugepage/enabled", Value: "[always] madvise never"}},
			Why: "A database with its own buffer management touches memory sparsely; collapsing pages in the background stalls it " +
				"at moments nobody chooses.", Source: "SAP note 2205917; tuned profiles oracle and postgresql",
			Disagree: "tuned's mssql profile wants always; SAP note 3577842 wants madvise.",
			Remedy:   "echo never > /sys/kernel/mm/transparent_hugepage/enabled"},
		{ID: "MEM-004", Title: "Swappiness is at its default", Severity: check.Low, Status: check.Finding,
			Detail: "vm.swappiness is 60", Subject: check.Memory,
			Evidence: []check.Evidence{{Path: "/proc/sys/vm/swappiness", Value: "60"}},
			Why:      "The kernel may swap out a cache that the database believes to be in memory.",
			Source:   "tuned throughput-performance, oracle", Remedy: "sysctl -w vm.swappiness=10"},
		{ID: "STO-002", Title: "I/O scheduler on a virtual disk", Severity: check.Medium, Status: check.Finding,
			Detail: "vda uses mq-deadline", Subject: check.Log,
			Evidence: []check.Evidence{{Path: "/sys/block/vda/queue/scheduler", Value: "[mq-deadline] none"}},
			Why:      "The host underneath sorts requests already.", Source: "SAP notes 2578899, 1984787",
			Remedy: "echo none > /sys/block/vda/queue/scheduler"},
		{ID: "PWR-001", Title: "Frequency governor", Severity: check.High, Status: check.NotApplicable,
			Detail: "this host has no cpufreq", Subject: check.Frequency,
			Why: "Work waits for it.", Source: "made"},
		{ID: "PWR-010", Title: "Idle states deeper than 70 us", Severity: check.Medium, Status: check.NotApplicable,
			Detail: "this host has no cpuidle", Subject: check.Idle,
			Why: "Work waits for it.", Source: "made"},
		{ID: "KRN-001", Title: "Clock source", Severity: check.Medium, Status: check.OK, Detail: "kvm-clock",
			Subject: check.Kernel, Evidence: []check.Evidence{{Path: "/sys/devices/system/clocksource/clocksource0/current_clocksource",
				Value: "kvm-clock"}}, Why: "Work waits for it.", Source: "made"},
		{ID: "KRN-004", Title: "AIO requests", Severity: check.Low, Status: check.Unknown,
			Detail: "/proc/sys/fs/aio-max-nr may not be read", Subject: check.Kernel,
			Why: "Work waits for it.", Source: "made"},
	}
}

func bigResults() []check.Result {
	rs := guestResults()
	rs[3] = check.Result{ID: "PWR-001", Title: "Frequency governor saves energy", Severity: check.High,
		Status: check.Finding, Detail: "512 of 512 policies use powersave", Subject: check.Frequency,
		Evidence: []check.Evidence{{Path: "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", Value: "powersave"},
			{Path: "/sys/devices/system/cpu/cpufreq/policy1-511/scaling_governor", Value: "powersave"}},
		Why:    "A governor that lowers the clock at low load makes every short burst wait for it to rise again.",
		Source: "SAP notes 2205917, 2684254, 3577842; tuned", Remedy: "cpupower frequency-set -g performance"}
	rs[4] = check.Result{ID: "PWR-010", Title: "Idle states deeper than 70 us are enabled", Severity: check.Medium,
		Status: check.Finding, Detail: "C2 takes 350 us to leave", Subject: check.Idle,
		Evidence: []check.Evidence{{Path: "/sys/devices/system/cpu/cpu0/cpuidle/state2/disable", Value: "0"}},
		Why:      "Leaving a deep state delays the first instruction after every wait.", Source: "SAP HANA notes; sapconf",
		Disagree: "Deep states of idle cores give turbo to the busy ones.", Remedy: "cpupower idle-set -D 70"}
	return rs
}
