package scanlock

import (
	"time"

	"github.com/prometheus/procfs"
)

// usesOf reads what the threads of a worker have had, those that run loops left out;
// nil where it cannot be read.
func usesOf(pid int) map[int]use {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil
	}
	all, err := fs.AllThreads(pid)
	if err != nil {
		return nil
	}
	out := map[int]use{}
	for _, t := range all {
		stat, err := t.Stat()
		if err != nil || stat.Comm == loopName {
			continue // it has ended, or is measured
		}
		u := use{ready: stat.State == "R", ran: time.Duration(stat.CPUTime() * float64(time.Second))}
		// Kernels built without the counts have zeros there.
		if s, err := t.Schedstat(); err == nil && s.RunningNanoseconds > 0 {
			u.ran, u.waited = time.Duration(s.RunningNanoseconds), time.Duration(s.WaitingNanoseconds)
		}
		out[t.PID] = u
	}
	return out
}
