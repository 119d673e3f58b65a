package check

import (
	"fmt"
	"slices"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"

	"pgregory.net/rapid"
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
	testkit.Check(t, func(t *rapid.T) {
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
