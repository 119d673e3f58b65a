package setting

import (
	"cmp"
	"slices"
	"strings"
)

// all holds every setting in the order in which they are applied. To add one, add its value to the
// list of its subject: frequency.go, uncore.go, boost.go, idle.go, memory.go, sysctl.go, limits.go, network.go,
// block.go, interrupts.go, smt.go.
var all = completed(power, frequencies, uncore, idle, sysctls, limits, network, memory, block, interrupts, cpus)

// completed fills in what follows from other fields, and sorts by rank.
func completed(lists ...[]Setting) []Setting {
	out := slices.Concat(lists...)
	for i := range out {
		s := &out[i]
		if s.Sysctl != "" {
			s.Name = strings.ReplaceAll(lastPart(s.Sysctl), "-", "_")
			s.Title += " (" + s.Sysctl + ")"
			s.File = "/proc/sys/" + strings.ReplaceAll(s.Sysctl, ".", "/")
			s.Absent = "the kernel does not show " + s.Sysctl
			s.Order = rankSysctl
		}
		if s.Files == nil {
			s.Files = []string{s.File}
		}
		if s.Values == "" {
			s.Values = s.Takes.describe()
		}
		if s.Rival != "" {
			s.Moves = append(s.Moves, Move{Setting: s.Rival, Becomes: []string{"0"}})
		}
	}
	slices.SortStableFunc(out, func(a, b Setting) int { return cmp.Compare(a.Order, b.Order) })
	return out
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
