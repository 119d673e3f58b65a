package probe

import (
	"hostlab/internal/workload/burst"
	"hostlab/internal/workload/worker"
)

// Jobs lists what this package's worker processes do. A program that runs probes
// must call worker.Main(probe.Jobs()) first thing in main.
func Jobs() []worker.Job {
	return append(burst.Jobs(), worker.Job{Name: siblingsJob, New: newPairWorker})
}
