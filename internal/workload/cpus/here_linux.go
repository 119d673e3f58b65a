package cpus

import (
	"context"
	"fmt"

	"hostlab/internal/host"
	"hostlab/internal/workload"
	"hostlab/internal/workload/thread"
)

// Here is the choice on this host, as it is now: a setting may have switched CPUs
// off since it was asked last. It reads one small file for each CPU and no more,
// since runs ask for it.
func Here(context.Context) (Host, error) {
	allowed, err := thread.Allowed()
	if err != nil {
		return Host{}, err
	}
	tree, top := host.Tree{}, &host.Topology{}
	for _, cpu := range allowed {
		dir := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/", cpu)
		siblings := tree.List(dir + "core_cpus_list")
		if siblings.State == host.StateAbsent { // before Linux 5.3
			siblings = tree.List(dir + "thread_siblings_list")
		}
		top.CPUs = append(top.CPUs, host.CPU{ID: cpu, Siblings: siblings})
	}
	return Of(workload.Machine{Topology: top, Allowed: allowed}), nil
}
