//go:build !linux

package cpus

import (
	"context"

	"hostlab/internal/host"
	"hostlab/internal/workload"
	"hostlab/internal/workload/thread"
)

// Here is the choice on this host, as it is now.
func Here(ctx context.Context) (*Machine, error) {
	allowed, err := thread.Allowed()
	if err != nil {
		return nil, err
	}
	return Of(workload.Machine{Topology: &host.Collect(ctx, host.Options{}).Topology, Allowed: allowed}), nil
}
