package probe

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/proc"
)

// quotaPeriods is how many periods of a CPU quota a run lasts at least: a run that
// ends within one may find that period's whole quota and see no limit.
const quotaPeriods = 5

// cpuLimit is a control group's limit on CPU time.
type cpuLimit struct {
	cpus   float64       // 0: none
	file   string        // cpu.stat of the group that sets it; "" if not known
	period time.Duration // after which it is filled up again
}

// limitOf finds the limit that hostlab itself is under, if it is less than n CPUs.
// Beside the file with the quota lies cpu.stat, in version 1 as in 2.
func limitOf(facts *host.Facts, n int) cpuLimit {
	if facts == nil {
		return cpuLimit{}
	}
	f := facts.Limits.CPUQuota
	quota, ok := f.Get()
	if !ok || quota >= float64(n) {
		return cpuLimit{}
	}
	l := cpuLimit{cpus: quota, period: 100 * time.Millisecond} // the kernel's default
	if !filepath.IsAbs(f.Source) {
		return l
	}
	dir := filepath.Dir(f.Source)
	l.file = filepath.Join(dir, "cpu.stat")
	var period string
	if b, err := os.ReadFile(filepath.Join(dir, "cpu.cfs_period_us")); err == nil {
		period = strings.TrimSpace(string(b))
	} else if b, err := os.ReadFile(filepath.Join(dir, "cpu.max")); err == nil {
		if f := strings.Fields(string(b)); len(f) == 2 {
			period = f[1]
		}
	}
	if us, err := strconv.Atoi(period); err == nil && us > 0 {
		l.period = time.Duration(us) * time.Microsecond
	}
	return l
}

// stops are how many periods there were, and in how many the quota stopped threads.
type stops struct{ periods, throttled int }

// stopsIn reads cpu.stat.
func stopsIn(file string) (stops, bool) {
	m, _ := proc.Keyed(file)
	periods, ok := m["nr_periods"]
	throttled, too := m["nr_throttled"]
	return stops{int(periods), int(throttled)}, ok && too
}
