package watch

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hostlab/internal/counters"
)

type perfClock map[int]counters.Group // by CPU

// newClock opens counters on CPUs: APERF, MPERF and TSC of the msr PMU, else the
// cycles of the core's own.
func newClock(cpus []int) (clock, string, error) {
	if events, err := msrEvents(); err == nil {
		if c, err := openPerf(cpus, events); err == nil {
			return c, "APERF/MPERF", nil
		}
	}
	c, err := openPerf(cpus, []counters.Event{counters.Cycles})
	if err != nil {
		return nil, "", err
	}
	return c, "cycles", nil
}

// msrEvents are the events of the msr PMU, in the order of counts.
func msrEvents() (out []counters.Event, err error) {
	const dir = "/sys/bus/event_source/devices/msr/"
	kind, err1 := os.ReadFile(dir + "type")
	n, err2 := strconv.ParseUint(strings.TrimSpace(string(kind)), 10, 32)
	for _, name := range []string{"aperf", "mperf", "tsc"} {
		text, err3 := os.ReadFile(dir + "events/" + name)
		v, err4 := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(string(text)), "event="), 0, 64)
		err = errors.Join(err, err3, err4)
		out = append(out, counters.Event{Kind: uint32(n), Config: v})
	}
	return out, errors.Join(err, err1, err2)
}

func openPerf(cpus []int, events []counters.Event) (perfClock, error) {
	c := perfClock{}
	for _, cpu := range cpus {
		g, err := counters.CPU(cpu, events...)
		if err != nil {
			c.close()
			return nil, err
		}
		c[cpu] = g
	}
	return c, nil
}

func (c perfClock) read(cpu int) (counts, error) {
	g := c[cpu]
	if g == nil {
		return counts{}, fmt.Errorf("CPU %d came online later", cpu)
	}
	v, err := g.Read()
	switch {
	case err != nil:
		return counts{}, fmt.Errorf("CPU %d: %w", cpu, err)
	case len(v) == 3:
		return counts{v[0], v[1], v[2]}, nil
	}
	return counts{Actual: v[0]}, nil
}

func (c perfClock) close() {
	for _, g := range c {
		g.Close()
	}
}

// heldFiles is how many files may be held open: a half of what the process may have.
func heldFiles() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 256
	}
	return int(min(l.Cur/2, 1<<20))
}
