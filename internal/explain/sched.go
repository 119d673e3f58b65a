package explain

import (
	"fmt"
	"os"
	"strings"
)

// Threads adds up what threads of a server on this host have used, from
// /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst: ns on a CPU, ns ready
// and waiting for one).
type Threads struct {
	// Read returns both of a thread, in s. Tests have their own.
	Read func(id int64) (run, queue float64, err error)

	started        bool
	live           map[int64][2]float64
	run, queue     float64
	ended, renewed int
}

// Watch reads all threads that there are now. What one used before the first call is
// not counted; all of one that came later is.
func (t *Threads) Watch(ids []int64) {
	now := map[int64][2]float64{}
	for _, id := range ids {
		run, queue, err := t.Read(id)
		if err != nil {
			continue // it has just ended
		}
		now[id] = [2]float64{run, queue}
		if !t.started {
			continue
		}
		before, ok := t.live[id]
		if ok && run < before[0] {
			before = [2]float64{} // another thread with the same number
		}
		if !ok {
			t.renewed++
		}
		t.run, t.queue = t.run+run-before[0], t.queue+queue-before[1]
	}
	for id := range t.live {
		if _, ok := now[id]; !ok {
			t.ended++ // what it used since the last look is lost
		}
	}
	t.live, t.started = now, true
}

// Total is what they used since the first call, in s, and how many ended meanwhile:
// of those up to one tick each was missed.
func (t *Threads) Total() (run, queue float64, ended int) { return t.run, t.queue, t.ended }

// Used is what one thread has used so far, in s; ok is false where that cannot be read. A
// nil Threads knows none.
func (t *Threads) Used(id int64) (seconds float64, ok bool) {
	if t == nil {
		return 0, false
	}
	run, _, err := t.Read(id)
	return run, err == nil
}

// SchedStat reads a process's or a thread's own account on Linux.
func SchedStat(id int64) (run, queue float64, err error) {
	return readSchedStat(fmt.Sprintf("/proc/%d/schedstat", id))
}

func readSchedStat(name string) (run, queue float64, err error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, 0, err
	}
	var r, q, slices uint64
	if _, err := fmt.Sscan(string(b), &r, &q, &slices); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", name, err)
	}
	return float64(r) / 1e9, float64(q) / 1e9, nil
}

// Comm is the name of a process of this host; "" where there is none.
func Comm(id int64) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", id))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
