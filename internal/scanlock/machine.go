// Package scanlock plans what command scanlock runs, watches it, and writes what came
// out as text and JSON. The threads themselves are workload/scanlock's.
package scanlock

import (
	"fmt"
	"slices"

	"hostlab/internal/host"
	"hostlab/internal/workload/cpus"
)

// Machine is what a plan has to know of a host.
type Machine struct {
	Allowed  []int            // CPUs that this process may use, rising
	Present  host.Fact[[]int] // that there are, online or not
	Online   host.Fact[[]int]
	CPUSet   host.Fact[[]int]   // of the control group
	Quota    host.Fact[float64] // CPUs that the control group gives
	Memory   host.Fact[int64]   // B
	Topology *host.Topology     // nil: nothing is known
	Guest    bool               // under a hypervisor, which may hide what CPUs share
}

// MachineOf takes what a plan needs from facts. Without an affinity, as on systems
// that do not report it, all CPUs that are online may be used.
func MachineOf(f *host.Facts) Machine {
	m := Machine{Present: f.Topology.Present, Online: f.Topology.Online, CPUSet: f.Limits.CPUSet, Quota: f.Limits.CPUQuota,
		Memory: f.Memory.Total, Topology: &f.Topology, Guest: f.Virt.Hypervisor.Or("none") != "none"}
	if limit, ok := f.Limits.MemoryMax.Get(); ok && limit < m.Memory.Or(limit+1) {
		m.Memory = f.Limits.MemoryMax
	}
	if m.Allowed = f.Limits.Affinity.Or(nil); len(m.Allowed) == 0 {
		m.Allowed = f.Topology.Online.Or(nil)
	}
	slices.Sort(m.Allowed)
	return m
}

// usable says why some of the CPUs cannot be used here, or nil.
func (m Machine) usable(list []int) error {
	if present, ok := m.Present.Get(); ok && len(present) > 0 {
		if none := without(list, present); len(none) > 0 {
			return fmt.Errorf("%s %s not exist; this host has %s", cpus.Named(none), plural(none, "does", "do"), cpus.Named(rising(present)))
		}
	}
	if online, ok := m.Online.Get(); ok {
		if off := without(list, online); len(off) > 0 {
			if m.Present.State != host.StateOK {
				return fmt.Errorf("%s %s not there, or offline; online %s %s", cpus.Named(off), plural(off, "is", "are"),
					plural(online, "is", "are"), cpus.Named(rising(online)))
			}
			return fmt.Errorf("%s %s offline; online %s %s", cpus.Named(off), plural(off, "is", "are"), plural(online, "is", "are"), cpus.Named(rising(online)))
		}
	}
	if set, ok := m.CPUSet.Get(); ok && len(set) > 0 {
		if out := without(list, set); len(out) > 0 {
			return fmt.Errorf("%s %s outside the cpuset of this control group, which has %s", cpus.Named(out), plural(out, "lies", "lie"), cpus.Named(rising(set)))
		}
	}
	if out := without(list, m.Allowed); len(out) > 0 {
		return fmt.Errorf("this process may not use %s, only %s; was it started with taskset or the like?", cpus.Named(out), cpus.Named(m.Allowed))
	}
	return nil
}

// without returns those of a rising list that are not in the other.
func without(list, other []int) []int {
	in := make(map[int]bool, len(other))
	for _, c := range other {
		in[c] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(c int) bool { return in[c] })
}

func rising(list []int) []int {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

func plural(list []int, one, many string) string {
	if len(list) == 1 {
		return one
	}
	return many
}
