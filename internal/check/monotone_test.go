package check

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// knob is a value of a host that has a direction: steps go from the worst to the best.
type knob struct {
	name  string
	steps []func(*host.Facts)
}

func steps[T any](name string, set func(f *host.Facts, v T), values ...T) knob {
	k := knob{name: name}
	for _, v := range values {
		k.steps = append(k.steps, func(f *host.Facts) { set(f, v) })
	}
	return k
}

// ofServer changes the first server, where there is one.
func ofServer[T any](set func(d *host.Database, v T)) func(*host.Facts, T) {
	return func(f *host.Facts, v T) {
		if len(f.Databases) > 0 {
			set(&f.Databases[0], v)
		}
	}
}

// only gives a server these settings in place of its own.
func only(d *host.Database, pairs ...string) {
	d.Settings = nil
	set(pairs...)(d)
}

func ofPolicies[T any](set func(p *host.Policy, v T)) func(*host.Facts, T) {
	return func(f *host.Facts, v T) {
		for i := range f.Frequency.Policies {
			set(&f.Frequency.Policies[i], v)
		}
	}
}

var knobs = []knob{
	steps("max_map_count", func(f *host.Facts, v int64) { f.Memory.MaxMapCount = known(v, "f") }, 1000, 65530, 262144,
		1048576, 1600000, 2147483647),
	steps("aio-max-nr", func(f *host.Facts, v uint64) { f.Kernel.AIOMaxNr = known(v, "f") }, 1, 65536, 1048576, 1<<62,
		1<<64-1),
	steps("aio-nr", func(f *host.Facts, v uint64) { f.Kernel.AIONr = known(v, "f") }, 1<<40, 1048576, 60000, 0),
	steps("pid_max", func(f *host.Facts, v int64) { f.Kernel.PIDMax = known(v, "f") }, 301, 32768, 4194304),
	steps("threads", func(f *host.Facts, v int64) { f.Kernel.Threads = known(v, "f") }, 4000000, 20000, 100),
	steps("shmmni", func(f *host.Facts, v int64) { f.Memory.ShmMni = known(v, "f") }, 100, 4096, 32768),
	steps("sem", func(f *host.Facts, v []int) { f.Kernel.Sem = known(v, "f") }, []int{1, 1, 1, 1},
		[]int{250, 32000, 100, 128}, []int{32000, 1024000000, 500, 32000}),
	steps("shmmax", func(f *host.Facts, v uint64) { f.Memory.ShmMax = known(v, "f") }, 1, 64<<30, 1<<64-1),
	steps("shmall", func(f *host.Facts, v uint64) { f.Memory.ShmAll = known(v, "f") }, 1, 64<<18, 1<<64-1),
	steps("dirty_bytes", func(f *host.Facts, v int64) { f.Memory.DirtyBytes = size(v, "f") }, 64<<30, 4<<30, 600<<20,
		100<<20),
	steps("dirty_ratio", func(f *host.Facts, v int64) { f.Memory.DirtyRatio = known(v, "f") }, 80, 40, 20, 10, 5, 1),
	steps("dirty_background_ratio", func(f *host.Facts, v int64) { f.Memory.DirtyBackgroundRatio = known(v, "f") }, 40, 10,
		5, 3, 1),
	steps("zone_reclaim_mode", func(f *host.Facts, v int64) { f.Memory.ZoneReclaim = known(v, "f") }, 1, 0),
	steps("swappiness", func(f *host.Facts, v int64) { f.Memory.Swappiness = known(v, "f") }, 100, 60, 30, 10, 1),
	steps("/dev/shm", func(f *host.Facts, v int64) { f.Memory.ShmSize = size(v, "f") }, 1<<20, 32<<30, 1<<40),
	steps("steal", func(f *host.Facts, v float64) { f.Virt.Steal = known(v, "f") }, 0.5, 0.03, 0.01, 0),
	steps("governor", ofPolicies(func(p *host.Policy, v string) { p.Governor = known(v, "f") }), "schedutil",
		"performance"),
	steps("EPP", ofPolicies(func(p *host.Policy, v string) { p.EPP = known(v, "f") }), "power", "balance_performance",
		"performance"),
	steps("scaling_max_freq", ofPolicies(func(p *host.Policy, v float64) { p.Max = hz(v, "f") }), 1, 2, 3.1),
	steps("boost", func(f *host.Facts, v bool) { f.Frequency.NoTurbo = known(v, "f") }, true, false),
	steps("EPB", func(f *host.Facts, v int64) {
		for i := range f.Frequency.EPB {
			f.Frequency.EPB[i].Value = known(v, "f")
		}
	}, 15, 6, 0),
	steps("cpu_dma_latency", func(f *host.Facts, v float64) { f.Idle.DMALatency = secs(v, "f") }, noLimit, 200, 70, 1),
	steps("disabled idle states", func(f *host.Facts, v int) {
		for i := range f.Idle.States {
			if f.Idle.States[i].Latency.Or(0) > deepLatency {
				f.Idle.States[i].Disabled = upTo(v)
			}
		}
	}, 0, 2, 4),
	steps("clock", func(f *host.Facts, v string) { f.Kernel.Clocksource = known(v, "f") }, "hpet", "tsc"),
	steps("mappings", ofServer(func(d *host.Database, v int64) { d.Maps = known(v, "f") }), 1<<40, 60000, 200),
	steps("CPU quota", ofServer(func(d *host.Database, v float64) { d.Limits.CPUQuota = known(v, "f") }), 0.5, 2, 8, 1000),
	steps("stops by the quota", ofServer(func(d *host.Database, v int64) { d.Limits.CPUThrottled = known(v, "f") }), 900,
		20, 10, 0),
	steps("affinity", ofServer(func(d *host.Database, v int) { d.Limits.Affinity = known(upTo(v), "f") }), 1, 4, 8),
	steps("memory.max", ofServer(func(d *host.Database, v int64) { d.Limits.MemoryMax = size(v, "f") }), 1<<20, 8<<30,
		1<<40),
	steps("memory kills", ofServer(func(d *host.Database, v int64) { d.Limits.MemoryKills = known(v, "f") }), 100, 1, 0),
	steps("a group's pressure", ofServer(func(d *host.Database, v float64) { d.Limits.MemoryStalled = known(v, "f") }),
		0.9, 0.02, 0.01, 0),
	steps("open files", ofServer(func(d *host.Database, v int64) { d.Limits.OpenFiles = known(v, "f") }), 1024, 64000,
		1048576),
	steps("locked memory", ofServer(func(d *host.Database, v int64) { d.Limits.LockedBytes = size(v, "f") }), 64<<10,
		1<<40),
	steps("oom_score_adj", ofServer(func(d *host.Database, v int64) { d.OOMScoreAdj = known(v, "f") }), 500, 0, -900,
		-1000),
	steps("huge pages in use", ofServer(func(d *host.Database, v int64) { d.HugePages = size(v, "f") }), 0, 2<<20, 1<<40),
	steps("fsync", ofServer(func(d *host.Database, v string) { only(d, "fsync", v, "wal_sync_method", host.Default) }),
		"off", "on"),
	steps("innodb_flush_method", ofServer(func(d *host.Database,
		v string) {
		only(d, "innodb_flush_method", v, "innodb_use_native_aio", "ON")
	}), "nosync", "fsync", "O_DIRECT"),
	steps("RemoveIPC", func(f *host.Facts, v string) { f.Kernel.RemoveIPC = known(v, "f") }, "yes", "no"),
	steps("overcommit_memory", func(f *host.Facts, v int64) { f.Memory.Overcommit = known(v, "f") }, 0, 2),
}

// Making one value of a host better never adds a finding, whatever else the host is, and never makes one weigh more.
func TestBetterNeverAddsAFinding(t *testing.T) {
	cases := allCases()
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		role := rapid.SampledFrom(Roles).Draw(t, "role")
		var base []int // the hosts of some cases in one
		for range rapid.IntRange(1, 6).Draw(t, "n") {
			base = append(base, rapid.IntRange(0, len(cases)-1).Draw(t, "case"))
		}
		k := rapid.SampledFrom(slices.Concat(knobs, farKnobs, restKnobs)).Draw(t, "knob")
		worse := rapid.IntRange(0, len(k.steps)-2).Draw(t, "worse")
		better := rapid.IntRange(worse+1, len(k.steps)-1).Draw(t, "better")
		found := func(step int) map[string]Severity {
			f := &host.Facts{}
			for _, i := range base {
				cases[i].facts(f)
			}
			k.steps[step](f)
			out := map[string]Severity{}
			for _, r := range Findings(Run(f, role, All())) {
				out[r.ID] = r.Severity
			}
			return out
		}
		before, after := found(worse), found(better)
		for id, s := range after {
			if k.name == "open files" && id == "MEM-007" { // with more files MongoDB admits more connections, which take mappings
				continue
			}
			if k.name == onlineCPUs && slices.Contains([]string{"VRT-002", "VRT-003", "STO-013"},
				id) { // they compare with the CPUs that are online
				continue
			}
			if was, ok := before[id]; !ok || s > was {
				var names []string
				for _, i := range base {
					names = append(names, cases[i].id+"/"+cases[i].name)
				}
				slices.Sort(names)
				t.Fatalf("%s from step %d to %d as %s: %s is %s, was %v, on a host of %s", k.name, worse, better, role, id, s,
					fmt.Sprint(before[id], ok), names)
			}
		}
	})
}

// ofNetwork changes a number of the network.
func ofNetwork(name string, fact func(n *host.Network) *host.Fact[int64], values ...int64) knob {
	return steps(name, func(f *host.Facts, v int64) { *fact(&f.Network) = known(v, "f") }, values...)
}

// ofMounts gives each place of data or log its options with one of these before them; "": theirs alone.
func ofMounts(name string, options ...string) knob {
	return steps(name, func(f *host.Facts, v string) {
		for _, list := range []*[]host.Storage{&f.Storage, &f.Data} {
			*list = slices.Clone(*list)
			for i := range *list {
				if s := &(*list)[i]; v != "" && s.Options.State == host.StateOK {
					s.Options.Value += "," + v
				}
			}
		}
	}, options...)
}

// farKnobs are those of the network and of mounts.
var farKnobs = []knob{
	ofNetwork("somaxconn", func(n *host.Network) *host.Fact[int64] { return &n.Somaxconn }, 1, 128, 2048, 4096, 65535),
	ofNetwork("tcp_slow_start_after_idle", func(n *host.Network) *host.Fact[int64] { return &n.SlowStart }, 1, 0),
	ofNetwork("tcp_window_scaling", func(n *host.Network) *host.Fact[int64] { return &n.WindowScaling }, 0, 1),
	ofNetwork("tcp_sack", func(n *host.Network) *host.Fact[int64] { return &n.SACK }, 0, 1),
	ofNetwork("tcp_timestamps", func(n *host.Network) *host.Fact[int64] { return &n.Timestamps }, 0, 1),
	ofNetwork("tcp_moderate_rcvbuf", func(n *host.Network) *host.Fact[int64] { return &n.ModerateRcvbuf }, 0, 1),
	ofNetwork("tcp_max_syn_backlog", func(n *host.Network) *host.Fact[int64] { return &n.SynBacklog }, 128, 1024, 8192,
		1<<20),
	ofNetwork("tcp_syn_retries", func(n *host.Network) *host.Fact[int64] { return &n.SynRetries }, 1, 3, 6, 8),
	ofNetwork("tcp_keepalive_time", func(n *host.Network) *host.Fact[int64] { return &n.KeepaliveTime }, 7200, 600, 300,
		30),
	ofNetwork("tcp_keepalive_intvl", func(n *host.Network) *host.Fact[int64] { return &n.KeepaliveIntvl }, 300, 75, 10),
	ofNetwork("rmem_max", func(n *host.Network) *host.Fact[int64] { return &n.RmemMax }, 212992, 4194304, 16<<20, 1<<30),
	ofNetwork("rmem_default", func(n *host.Network) *host.Fact[int64] { return &n.RmemDefault }, 4096, 212992, 262144,
		1<<30),
	ofNetwork("wmem_max", func(n *host.Network) *host.Fact[int64] { return &n.WmemMax }, 212992, 1048576, 16<<20, 1<<30),
	ofNetwork("netdev_max_backlog", func(n *host.Network) *host.Fact[int64] { return &n.NetdevBacklog }, 1, 1000, 300000),
	ofNetwork("tcp_max_slot_table_entries", func(n *host.Network) *host.Fact[int64] { return &n.NFSSlots }, 1, 64, 128),
	ofNetwork("listen overflows", func(n *host.Network) *host.Fact[int64] { return &n.ListenOverflows }, 1<<40, 1000, 1,
		0),
	steps("ports", func(f *host.Facts, v []int) { f.Network.PortRange = known(v, "f") }, []int{60000, 60999},
		[]int{32768, 60999}, []int{9000, 65500}, []int{1024, 65535}),
	steps("tcp_rmem", func(f *host.Facts, v int) { f.Network.TCPRmem = known([]int{4096, 87380, v}, "f") }, 1<<20, 6<<20,
		16<<20, 1<<30),
	steps("stalls for I/O", func(f *host.Facts, v float64) { f.Kernel.StalledIO = known(v, "f") }, 0.9, 0.2, 0.05, 0),
	ofMounts("barriers", "nobarrier", ""),
	ofMounts("barrier=0", "barrier=0", ""),
	ofMounts("soft", "soft", ""),
	ofMounts("discard", "discard", ""),
}

// A knob that changes no answer would show nothing.
func TestFarKnobsChangeAnswers(t *testing.T) {
	cases := slices.Concat(networkCases, mountCases, storageCases)
	for _, k := range farKnobs {
		matters := slices.ContainsFunc(cases, func(c lookCase) bool {
			found := func(step func(*host.Facts)) int {
				f := c.facts0()
				step(f)
				return len(Findings(Run(f, ProductionDB, All())))
			}
			return found(k.steps[0]) > found(k.steps[len(k.steps)-1])
		})
		if !matters {
			t.Errorf("%s changes no answer on any of %d hosts", k.name, len(cases))
		}
	}
}

func ofMemory(name string, fact func(m *host.Memory) *host.Fact[int64], values ...int64) knob {
	return steps(name, func(f *host.Facts, v int64) { *fact(&f.Memory) = known(v, "f") }, values...)
}

func ofKernel(name string, fact func(k *host.Kernel) *host.Fact[int64], values ...int64) knob {
	return steps(name, func(f *host.Facts, v int64) { *fact(&f.Kernel) = known(v, "f") }, values...)
}

// ofQueues changes every disk, those below a place, too.
func ofQueues[T any](name string, set func(b *host.BlockDevice, v T), values ...T) knob {
	return steps(name, func(f *host.Facts, v T) {
		f.Block = slices.Clone(f.Block)
		for i := range f.Block {
			set(&f.Block[i], v)
		}
		for _, list := range []*[]host.Storage{&f.Storage, &f.Data} {
			*list = slices.Clone(*list)
			for i := range *list {
				stack := slices.Clone((*list)[i].Stack)
				for j, layer := range stack {
					if layer.Queue != nil {
						b := *layer.Queue
						set(&b, v)
						stack[j].Queue = &b
					}
				}
				(*list)[i].Stack = stack
			}
		}
	}, values...)
}

func ofUncore[T any](name string, set func(u *host.Uncore, v T), values ...T) knob {
	return steps(name, func(f *host.Facts, v T) {
		f.Frequency.Uncore = slices.Clone(f.Frequency.Uncore)
		for i := range f.Frequency.Uncore {
			set(&f.Frequency.Uncore[i], v)
		}
	}, values...)
}

// ofWindows changes Windows' facts, where the host is one.
func ofWindows(name string, set func(w *host.Windows, v int64), values ...int64) knob {
	return steps(name, func(f *host.Facts, v int64) {
		if f.Windows != nil {
			w := *f.Windows
			w.Processors = slices.Clone(w.Processors)
			set(&w, v)
			f.Windows = &w
		}
	}, values...)
}

const onlineCPUs = "online CPUs"

// restKnobs are those that no other list has.
var restKnobs = []knob{
	ofMemory("ksm", func(m *host.Memory) *host.Fact[int64] { return &m.KSM }, 1, 0),
	ofMemory("numa_balancing", func(m *host.Memory) *host.Fact[int64] { return &m.NUMABalancing }, 1, 0),
	steps("defrag", func(f *host.Facts, v string) { f.Memory.THPDefrag = pick("f", v) },
		"[always] defer defer+madvise madvise never", "always defer defer+madvise [madvise] never"),
	steps("dirty_expire_centisecs", func(f *host.Facts, v float64) { f.Memory.DirtyExpire = known(v, "f") }, 60, 30, 5, 1),
	steps("dirty_writeback_centisecs", func(f *host.Facts, v float64) { f.Memory.DirtyWriteback = known(v, "f") }, 60, 5,
		1),
	steps("stalls for memory", func(f *host.Facts, v float64) { f.Kernel.StalledMemory = known(v, "f") }, 0.9, 0.2, 0.01,
		0),
	steps("the clock's server", func(f *host.Facts, v bool) { f.Kernel.ClockSynced = known(v, "f") }, false, true),
	steps("a guest's clock", func(f *host.Facts, v string) { f.Kernel.Clocksource = known(v, "f") }, "kvm-clock", "tsc"),
	steps("vulnerabilities", func(f *host.Facts, v string) {
		f.Kernel.Mitigations = []host.Mitigation{{Name: "mds", Text: known(v, "f")}}
	}, "Vulnerable", "Mitigation: Clear CPU buffers", "Not affected"),
	ofKernel("sched_autogroup_enabled", func(k *host.Kernel) *host.Fact[int64] { return &k.Autogroup }, 1, 0),
	ofKernel("panic_on_oops", func(k *host.Kernel) *host.Fact[int64] { return &k.PanicOnOops }, 0, 1),
	ofKernel("msgmni", func(k *host.Kernel) *host.Fact[int64] { return &k.MsgMni }, 16, 1024, 32000),
	steps("file-max", func(f *host.Facts, v uint64) { f.Kernel.FileMax = known(v, "f") }, 1024, 6815744, 1<<62),
	steps("a volume's limit", func(f *host.Facts, v float64) {
		f.CloudVolumes = slices.Clone(f.CloudVolumes)
		for i := range f.CloudVolumes {
			f.CloudVolumes[i].VolumeIOPS = known(v, "f")
		}
	}, 1200, 61, 12, 0),
	steps("held packets", func(f *host.Facts, v int64) {
		f.CloudNetworks = slices.Clone(f.CloudNetworks)
		for i := range f.CloudNetworks {
			f.CloudNetworks[i].Packets = known(v, "f")
		}
	}, 946, 1, 0),
	steps("work queues", func(f *host.Facts, v int64) {
		f.Offload = slices.Clone(f.Offload)
		for i := range f.Offload {
			f.Offload[i].Queues = known(v, "f")
		}
	}, 0, 1, 8),
	steps("memory by node", func(f *host.Facts, v int64) {
		f.Databases = slices.Clone(f.Databases)
		for i := range f.Databases {
			f.Databases[i].NodeMemory = host.Known([]int64{40 * gib, v}, "B", "f")
		}
	}, 0, gib, 30*gib),
	steps("receive queues", func(f *host.Facts, n int64) {
		f.Network.Cards = slices.Clone(f.Network.Cards)
		for i := range f.Network.Cards {
			f.Network.Cards[i].Receive, f.Network.Cards[i].Served = known(n, "f"), known(upTo(int(n)), "f")
		}
	}, 1, 2, 8),
	steps("base_slice", func(f *host.Facts, v float64) { f.Kernel.BaseSlice = secs(v, "f") }, 100, 3000, 10000),
	steps("preemption", func(f *host.Facts, v string) { f.Identity.Preemption = known(v, "f") }, "full", "lazy", "voluntary"),
	steps("sched_ext", func(f *host.Facts, v string) { f.Kernel.SchedExt = known(v, "f") }, "enabled", "disabled"),
	ofQueues("atomic writes", func(b *host.BlockDevice, v int64) { b.AtomicWrite = known(v, "f") }, 65536, 16384, 4096),
	ofNetwork("wmem_default", func(n *host.Network) *host.Fact[int64] { return &n.WmemDefault }, 4096, 212992, 262144,
		1<<30),
	ofNetwork("tcp_keepalive_probes", func(n *host.Network) *host.Fact[int64] { return &n.KeepaliveProbes }, 90, 9, 3),
	ofQueues("scheduler", func(b *host.BlockDevice, v string) { b.Scheduler = pick("f", v) }, "none [mq-deadline]",
		"[none] mq-deadline"),
	ofQueues("nomerges", func(b *host.BlockDevice, v int64) { b.NoMerges = known(v, "f") }, 0, 2),
	ofQueues("read_ahead_kb", func(b *host.BlockDevice, v int64) { b.ReadAhead = size(v, "f") }, 0, 128<<10, 4<<20),
	ofQueues("write cache", func(b *host.BlockDevice, v string) { b.WriteCache = known(v, "f") }, "write back",
		"write through"),
	ofQueues("io_timeout", func(b *host.BlockDevice, v float64) { b.IOTimeout = known(v, "f") }, 1, 30, 4294967.295),
	ofQueues("queues", func(b *host.BlockDevice, v int64) { b.Queues = known(v, "f") }, 1, 4, 64),
	steps("DAX", func(f *host.Facts, v bool) {
		f.Storage = slices.Clone(f.Storage)
		for i := range f.Storage {
			if s := &f.Storage[i]; s.DAX.State == host.StateOK && v {
				s.DAX, s.Class = known(true, "f"), known(host.ClassPmemDAX, "f")
			}
		}
	}, false, true),
	steps(onlineCPUs, func(f *host.Facts, all bool) {
		if all && f.Topology.Present.State == host.StateOK {
			f.Topology.Online = f.Topology.Present
		}
	}, false, true),
	steps("bios_limit", ofPolicies(func(p *host.Policy, v float64) { p.BIOSLimit = hz(v, "f") }), 0.8, 1.2, 9),
	steps("platform_profile", func(f *host.Facts, v string) { f.Frequency.PlatformProfile = known(v, "f") }, "balanced",
		"performance"),
	ofUncore("max_freq_khz", func(u *host.Uncore, v float64) { u.Max = hz(v, "f") }, 0.8, 1.2, 9),
	ofUncore("ELC", func(u *host.Uncore, best bool) {
		threshold := map[bool]int64{false: 95, true: 0}[best]
		u.ELCLow, u.ELCHigh, u.ELCHighActive = known(threshold, "f"), known(threshold, "f"), known(best, "f")
	}, false, true),
	ofWindows("PROCTHROTTLEMIN", func(w *host.Windows, v int64) { w.ThrottleMin = known(v, "f") }, 0, 5, 100),
	ofWindows("PROCTHROTTLEMAX", func(w *host.Windows, v int64) { w.ThrottleMax = known(v, "f") }, 50, 99, 100),
	ofWindows("processors' frequency", func(w *host.Windows, percent int64) {
		for i := range w.Processors {
			p := &w.Processors[i]
			p.Current, p.OfMaximum = known(p.Max.Value*percent/100, "f"), known(float64(percent), "f")
		}
	}, 20, 50, 100),
}

// directionless are the checks of which no value is better than another whatever else a host is.
var directionless = map[string]string{
	"SMT-001": "no value is recommended",
	"PWR-014": "which driver there is decides what else is judged",
	"MEM-001": "each server asks for another value",
	"STO-006": "a log on another storage is judged by other checks",
	"STO-007": "a log on another storage is judged by other checks",
}

// Every check that has a direction is moved by a knob: on a host where the worst value is a finding, the best one is
// none.
func TestEveryCheckHasAKnob(t *testing.T) {
	turned := slices.Concat(knobs, farKnobs, restKnobs)
	for _, c := range All() {
		moved := slices.ContainsFunc(allCases(), func(l lookCase) bool {
			if l.id != c.ID {
				return false
			}
			role := cmp.Or(l.role, ProductionDB)
			status := func(step func(*host.Facts)) Status {
				f := l.facts0()
				step(f)
				return Run(f, role, []Check{c})[0].Status
			}
			return slices.ContainsFunc(turned, func(k knob) bool {
				return status(k.steps[0]) == Finding && status(k.steps[len(k.steps)-1]) != Finding
			})
		})
		if why := directionless[c.ID]; moved == (why != "") {
			t.Errorf("%s, %s: moved by a knob: %v, and without direction since %q; add its values, worst first, to restKnobs, "+
				"or to directionless why none is better", c.ID, c.Title, moved, why)
		}
	}
}
