package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
)

// scheduler holds the checks of who decides when a thread runs.
var scheduler = []Check{
	{
		ID: "KRN-017", Subject: Kernel, Title: "Kernel that preempts PostgreSQL without huge pages",
		For:      engines("postgresql"),
		Severity: map[Role]Severity{ProductionDB: Medium},
		absent:   "no PostgreSQL with a cache of 8 GiB is seen, or fewer than 64 CPUs, for which nobody has reported it",
		ok:       "the kernel does not preempt itself, or the cache has huge pages",
		bad:      "the kernel preempts itself while PostgreSQL's cache has no huge page",
		fix: remedy{remark("reserve huge pages: hostlab check --explain SRV-001 says how many; before Linux 7.0 the kernel " +
			"option preempt=none helps as well")},
		left: "which model of preemption is right depends on all programs of the host; huge pages are SRV-001's",
		look: func(f *host.Facts, _ Role) view {
			v := view{}
			if cpus, known := f.Topology.Threads.Get(); known && cpus < 64 {
				return v
			}
			model := oneOf(f.Identity.Preemption, []string{"none", "voluntary"}, []string{"lazy", "full", "rt"},
				"root sees it in /sys/kernel/debug/sched/preempt")
			if model.state == host.StateAbsent {
				model = model.open("root sees the model of preemption in /sys/kernel/debug/sched/preempt, where debugfs is mounted")
			}
			for _, d := range of(engines("postgresql"), servers(f)) {
				if cache, known := d.SharedMemory.Get(); known && cache < largeCache || d.SharedMemory.State == host.StateAbsent {
					continue
				}
				huge, one := read(d.HugePages, func(b int64) bool { return b > 0 }), model
				if d.HugePages.Or(0) > 0 || model.bad && huge.unknown() {
					one = huge
				}
				v.add(d, one, aside(d.SharedMemory))
			}
			return v
		},
	},
	{
		ID: "KRN-018", Subject: Kernel, Title: "Scheduler that a program has replaced (sched_ext)",
		Severity: inProduction(Info, Info),
		absent:   "the kernel has no sched_ext", ok: "the kernel's own scheduler decides",
		bad:  "a BPF program decides which thread runs",
		fix:  remedy{remark("if nobody wants it, stop its service; the kernel's own scheduler takes over at once")},
		left: "the program was started on purpose",
		look: func(f *host.Facts, _ Role) view {
			return see(oneOf(f.Kernel.SchedExt, []string{"disabled"}, []string{"enabled", "enabling", "disabling"},
				"the kernel documentation on sched_ext explains it"), aside(f.Kernel.SchedExtName))
		},
	},
	{
		ID: "KRN-019", Subject: Kernel, Title: "Slices of the scheduler below the kernel's own",
		Severity: inProduction(Info, Info),
		absent:   "the kernel shows no slice here: it stands in debugfs, which may not be mounted",
		ok:       "as long as the kernel's own, or longer", bad: "slices are shorter than the kernel's own",
		left: "someone has chosen it, for a reason that hostlab does not see",
		look: lookSlices,
	},
}

// lookSlices compares slices with the shortest that a kernel chooses by itself for so many CPUs.
func lookSlices(f *host.Facts, _ Role) view {
	n, own := min(f.Topology.Threads.Or(1), 8), 0.7e-3
	for ; n >= 2; n /= 2 {
		own += 0.7e-3
	}
	slice := f.Kernel.BaseSlice
	v := see(read(slice, func(s float64) bool { return s >= own*0.999 }))
	if slice.State == host.StateOK { // else there is nothing to compare
		v.readings = append(v.readings, needed(f.Topology.Threads))
	}
	v.fix = remedy{run("sudo", "cat", slice.Source).noting("in ns; after a reboot it is the kernel's own, unless " +
		"something writes to it again")}
	return v
}

// lookTorn finds servers that write pages twice, or whole into the log, on devices that write them wholly or not at
// all.
func lookTorn(f *host.Facts, _ Role) (v view) {
	for _, d := range of(engines("postgresql", "mariadb", "mysql"), servers(f)) {
		setting, page := "innodb_doublewrite", int64(16<<10)
		if d.Kind == "postgresql" {
			setting, page = "full_page_writes", 8<<10
		}
		off := strings.EqualFold(d.Setting(setting).Value, "off")
		if r := whole(d.DataDir); r.unknown() {
			v.readings = append(v.readings, r)
		}
		for _, s := range slices.Concat(f.Data, f.Storage) {
			if dir := d.DataDir.Or(""); dir == "" || s.Path != dir {
				continue
			}
			var queues []host.BlockDevice
			for _, layer := range s.Stack {
				if layer.Queue != nil {
					queues = append(queues, *layer.Queue)
				}
			}
			torn := off || slices.ContainsFunc(queues, func(q host.BlockDevice) bool { return q.AtomicWrite.Or(0) < page })
			for _, q := range queues {
				v.add(d, read(q.AtomicWrite, func(int64) bool { return torn }))
			}
			if !torn && len(queues) > 0 {
				v.bad = fmt.Sprintf("%s guards against torn pages (%s), on a device that tears none", nameOf(d), setting)
			}
		}
	}
	return v
}

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
