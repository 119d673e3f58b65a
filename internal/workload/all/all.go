// Package all lists the workloads.
package all

import (
	"slices"

	"hostlab/internal/workload"
	"hostlab/internal/workload/burst"
	"hostlab/internal/workload/client"
	"hostlab/internal/workload/command"
	"hostlab/internal/workload/dialog"
	"hostlab/internal/workload/logcommit"
	"hostlab/internal/workload/null"
	"hostlab/internal/workload/observe"
	"hostlab/internal/workload/oltp"
	"hostlab/internal/workload/scanlock"
	"hostlab/internal/workload/worker"
	"hostlab/internal/workload/xmlquery"
)

// Workloads returns every workload, in the order that lists show them.
func Workloads() []workload.Workload {
	return []workload.Workload{
		command.Workload{},
		burst.Workload{},
		client.Copy{},
		client.Delete{},
		scanlock.Pair{},
		dialog.Workload{},
		client.Extract{},
		logcommit.Workload{},
		oltp.Workload{},
		observe.Workload{},
		scanlock.Workload{},
		xmlquery.Workload{},
		null.Workload{},
	}
}

// Find returns the workload of that name.
func Find(name string) (workload.Workload, bool) {
	for _, w := range Workloads() {
		if w.Describe().Name == name {
			return w, true
		}
	}
	return nil, false
}

// Jobs lists what worker processes of the workloads do. A program that runs
// workloads must pass it to worker.Main first thing in main.
func Jobs() []worker.Job {
	return slices.Concat(burst.Jobs(), dialog.Jobs(), oltp.Jobs(), scanlock.Jobs(), xmlquery.Jobs())
}
