package cpus

import (
	"context"
	"fmt"

	"hostlab/internal/host"
	"hostlab/internal/workload"
	"hostlab/internal/workload/thread"
)

// Here is the choice on this host, as it is now: a setting may have switched CPUs
// off since it was asked last. It reads a few small files for each CPU and no more,
// since runs ask for it.
func Here(context.Context) (*Machine, error) {
	allowed, err := thread.Allowed()
	if err != nil {
		return nil, err
	}
	tree, top := host.Tree{}, &host.Topology{}
	class := map[int]string{}
	for _, pmu := range []string{"cpu_core", "cpu_atom", "cpu_lowpower"} { // of Intel's hybrid processors
		if list, ok := tree.List("/sys/devices/" + pmu + "/cpus").Get(); ok {
			top.CoreTypes = append(top.CoreTypes, host.CoreType{Name: pmu, CPUs: list})
			for _, cpu := range list {
				class[cpu] = pmu
			}
		}
	}
	cached := map[int]bool{}
	for _, cpu := range allowed {
		dir := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/", cpu)
		for level := 3; level > 1 && !cached[cpu]; level-- { // index2 and 3 are L2 and L3, where L1 is two
			file := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cache/index%d/", cpu, level)
			list, ok := tree.List(file + "shared_cpu_list").Get()
			if n, known := tree.Int(file+"level", "", 1).Get(); ok && known {
				top.Caches = append(top.Caches, host.Cache{Level: int(n), Type: "Unified", CPUs: list})
				for _, c := range list {
					cached[c] = true
				}
			}
		}
		siblings := tree.List(dir + "core_cpus_list")
		if siblings.State == host.StateAbsent { // before Linux 5.3
			siblings = tree.List(dir + "thread_siblings_list")
		}
		top.CPUs = append(top.CPUs, host.CPU{ID: cpu, Siblings: siblings, CoreType: class[cpu],
			Socket: host.Convert(tree.Int(dir+"physical_package_id", "", 1), "", func(n int64) (int, error) { return int(n), nil })})
	}
	return Of(workload.Machine{Topology: top, Allowed: allowed}), nil
}
