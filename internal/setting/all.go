package setting

import "slices"

// all lists every setting in the order in which they are applied. To add one, declare it
// beside its subject (frequency.go, boost.go, idle.go, smt.go, memory.go, sysctl.go,
// block.go) and add it here; a test holds that Order rises along the list.
var all = []Setting{
	platformProfile,
	governor, epp, epb, boost,
	maxPerfPct, minPerfPct, maxFreq, minFreq,
	cstateLatency, resumeLatency, cpuDMALatency,
	thp, thpDefrag, ksm,
	numaBalancing, swappiness, dirtyBackgroundBytes, dirtyBackgroundRatio, dirtyBytes, dirtyRatio, maxMapCount,
	shmMni, shmMax, shmAll, sem, pidMax, aioMaxNr, clocksource,
	ioScheduler, noMerges, readAhead, nvmeIOTimeout,
	cpuOnline, smt,
}

// All lists the settings in the order in which they are applied.
func All() []Setting { return slices.Clone(all) }

// Names are the names of all settings.
func Names() (names []string) {
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// Ranks of settings: lower is applied first. The governor comes before EPP, which it may
// lock, and both before limits. CPUs are taken away last, since what they lack while
// they are offline could not be set, and so given back first.
const (
	rankProfile = 10 * (iota + 1)
	rankGovernor
	rankEPP
	rankEPB
	rankBoost
	rankMaxPerf
	rankMinPerf
	rankMax // before min: a maximum below the minimum is taken, the reverse is not everywhere
	rankMin
	rankIdle
	rankMemory
	rankSysctl
	rankBlock
	rankCPU
	rankSMT
)
