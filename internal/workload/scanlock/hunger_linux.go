package scanlock

import (
	"fmt"
	"os"
	"strconv"

	"hostlab/internal/proc"
)

// usesOf reads what the threads of a worker have had, those that run loops left out;
// nil where it cannot be read.
func usesOf(pid int) map[int]use {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	out := map[int]use{}
	for _, task := range tasks {
		tid, _ := strconv.Atoi(task.Name())
		stat, err := proc.Read(tid)
		if err != nil || stat.Name == loopName {
			continue // it has ended, or is measured
		}
		u := use{ready: stat.State == 'R', ran: stat.CPU}
		// Kernels built without the counts have zeros there.
		if ran, waited, err := proc.Schedstat(task.Name()); err == nil && ran > 0 {
			u.ran, u.waited = ran, waited
		}
		out[tid] = u
	}
	return out
}
