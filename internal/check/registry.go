package check

import "slices"

// all lists every check, by subject and number. To add one, declare it beside
// its subject (power.go, limits.go, windows.go, idle.go, smt.go, memory.go,
// dirty.go, kernel.go, queue.go, storage.go, virt.go), take the next free number, and add it
// here. Numbers are never given twice: scripts and reports refer to them.
var all = []Check{
	governor, hardwareGovernor, epp, epb, boost, minPerf, frequencyRange, biosLimit, platformProfile,
	windowsPlan, windowsMHz,
	deepIdle, latencyLimit, idleCmdline,
	smt,
	thpEnabled, thpDefrag, ksm, numaBalancing, dirtyLimits, swappiness, maxMapCount, shmSize,
	shmMni, shmMax, shmAll, semaphores, pidMax, aioMaxNr, clocksource, nvmeTimeout,
	scheduler, noMerges, readAhead, discard, pmemDAX, logInMemory, logOnNetwork, writeCache,
	steal, cpuQuota, affinity, offline,
}

// All returns every check, in the order of reports: power, idle states, SMT,
// memory, kernel, storage, virtualization and limits.
func All() []Check { return slices.Clone(all) }
