package check

import (
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
)

// coreOfMost is the list of a core's online threads, of a CPU that has another beside it if there is one.
func coreOfMost(f *host.Facts) (of host.Fact[[]int]) {
	for _, c := range f.Topology.CPUs {
		if of.State == "" || c.Siblings.State != host.StateOK || len(c.Siblings.Value) > 1 {
			of = c.Siblings
		}
		if of.State != host.StateOK || len(of.Value) > 1 {
			break
		}
	}
	return of
}

// threadsPerCore are the threads that a core may have, most first.
var threadsPerCore = []int{8, 4, 2}

// offBySMT are the offline CPUs that are siblings of online ones, off since SMT is off or limited to some threads of
// each core (smt/control: off, forceoff, or since Linux 6.6 a number). Offline CPUs have no topology, so that numbers
// decide: Power counts a core's threads one after the other, and x86 mostly first one of each core and then the others.
// Power's ppc64_cpu --smt takes siblings off where the kernel has no such control: alike in each core.
func offBySMT(f *host.Facts, off []int) []int {
	online, arch := f.Topology.Online.Or(nil), f.Identity.Arch.Or("")
	power := strings.HasPrefix(arch, "ppc") || strings.HasPrefix(f.Identity.CPUModel.Or(""), "POWER")
	most, err := strconv.Atoi(f.Topology.SMTControl.Or(""))
	switch control := f.Topology.SMTControl.Or("notimplemented"); {
	case len(off) == 0 || len(online) == 0:
		return nil
	case control == "off" || control == "forceoff":
		most = 1
	case control == "notimplemented" && power:
		most = 0 // any number, if all cores have it
	case err != nil:
		return nil
	}
	for _, threads := range threadsPerCore {
		if arch == "amd64" && threads > 2 {
			continue
		}
		on := map[int]int{}
		for _, c := range online {
			on[c/threads]++
		}
		least, largest := threads, 0
		for _, n := range on {
			least, largest = min(least, n), max(largest, n)
		}
		if largest < threads && (most == 0 && least == largest || largest <= most) {
			return slices.DeleteFunc(slices.Clone(off), func(c int) bool { return on[c/threads] == 0 })
		}
	}
	all := len(off) + len(online)
	manyThreads := arch != "" && arch != "amd64" && (all == 4*len(online) || all == 8*len(online))
	if most == 1 && (len(off) <= len(online) || manyThreads) {
		return off
	}
	return nil
}
