package private

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Thread is what a thread of a process has used and how long it waited for a CPU, to
// the nanosecond (schedstat: Documentation/scheduler/sched-stats.rst). ok is false where the kernel does not tell.
func Thread(pid, tid int) (cpu, waited time.Duration, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
	if err != nil {
		return 0, 0, false
	}
	f := strings.Fields(string(b))
	if len(f) != 3 {
		return 0, 0, false
	}
	on, err1 := strconv.ParseInt(f[0], 10, 64)
	queue, err2 := strconv.ParseInt(f[1], 10, 64)
	return time.Duration(on), time.Duration(queue), err1 == nil && err2 == nil
}
