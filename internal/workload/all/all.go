// Package all lists the workloads, describes them, and runs one by itself, a few times: to try parameters before a study
// uses them.
package all

import (
	"hostlab/internal/worker"
	"hostlab/internal/workload"
	"hostlab/internal/workload/client"
	"hostlab/internal/workload/command"
	"hostlab/internal/workload/dialog"
	"hostlab/internal/workload/logcommit"
	"hostlab/internal/workload/observe"
	"hostlab/internal/workload/scanlock"
	"hostlab/internal/workload/xmlquery"
)

// list holds each workload, and the jobs of its worker processes, in the order that help and reports show them.
var list = []struct {
	workload workload.Workload
	jobs     []worker.Job
}{
	{command.Workload{}, nil},
	{client.Copy{}, nil},
	{client.Delete{}, nil},
	{dialog.Workload{}, dialog.Jobs()},
	{client.Extract{}, nil},
	{logcommit.Workload{}, nil},
	{observe.Workload{}, nil},
	{scanlock.Workload{}, scanlock.Jobs()},
	{xmlquery.Workload{}, xmlquery.Jobs()},
	{Null{}, nil},
}

// Workloads returns every workload.
func Workloads() (all []workload.Workload) {
	for _, each := range list {
		all = append(all, each.workload)
	}
	return all
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
func Jobs() (all []worker.Job) {
	for _, each := range list {
		all = append(all, each.jobs...)
	}
	return all
}
