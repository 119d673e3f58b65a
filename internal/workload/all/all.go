// Package all lists the workloads.
package all

import (
	"hostlab/internal/workload"
	"hostlab/internal/workload/command"
	"hostlab/internal/workload/null"
)

// Workloads returns every workload, in the order that lists show them.
func Workloads() []workload.Workload {
	return []workload.Workload{
		command.Workload{},
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
