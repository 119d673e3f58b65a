package check

import (
	"slices"
	"testing"

	"hostlab/internal/host"
)

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
			role := l.role
			if role == "" {
				role = ProductionDB
			}
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
