package watch

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"hostlab/internal/counters"
	"hostlab/internal/host"
)

var counterPaths = []string{userTime, systemTime, idleTime, ofMaximum, performance, queueLength, switchRate, writeRate,
	writeTime}

// Counters reads Windows' performance counters. It is not safe for concurrent use.
type Counters struct {
	query *counters.Query
	*tallies
	last time.Time
}

// OpenCounters opens the counters, and takes a second to see which of them count. An error is a machine without any
// CPU's use.
func OpenCounters(ctx context.Context, logDir string) (*Counters, error) {
	hostname, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	var cpus []counterCPU
	for _, c := range host.CounterCPUs() {
		cpus = append(cpus, counterCPU{c.CPU, c.Instance, c.Nominal})
	}
	volume := ""
	if logDir != "" {
		root, err := host.VolumeRoot(logDir)
		if err != nil {
			return nil, fmt.Errorf("the volume of %s: %w", logDir, err)
		}
		volume = strings.TrimSuffix(root, `\`) // as LogicalDisk has it: C:, or C:\mnt where it is mounted there
	}
	c := &Counters{tallies: newTallies(hostname, cpus, volume)}
	if c.query, err = counters.Open(counterPaths); err != nil {
		return nil, err
	}
	first, err := c.query.Between(ctx, time.Second)
	if err != nil {
		c.Close()
		return nil, err
	}
	c.begin(byPath(first))
	for _, u := range c.info.Unknown {
		if u.What == "CPU use" {
			c.Close()
			return nil, fmt.Errorf("performance counters of Processor Information: %s", u.Why)
		}
	}
	return c, nil
}

func byPath(list []counters.Series) map[string]counters.Series {
	out := map[string]counters.Series{}
	for i, s := range list {
		out[counterPaths[i]] = s
	}
	return out
}

// Info returns what is known of the machine.
func (c *Counters) Info() Info { return c.info }

func (c *Counters) Close() { c.query.Close() }

// Read reads all counters at a time, which the caller tells. The first reading is where all totals are 0.
func (c *Counters) Read(now time.Time) (Reading, error) {
	if !c.last.IsZero() {
		if err := c.query.Collect(); err != nil {
			return Reading{}, err
		}
		c.add(now.Sub(c.last).Seconds(), byPath(c.query.Series()))
	}
	c.last = now
	r := c.total
	r.At = now
	return r, nil
}

// Shortest is the least time between two readings that mean something: performance counters are means of a second.
const Shortest = time.Second

// OpenHere opens this system's counters.
func OpenHere(ctx context.Context, cfg Config) (Counter, error) {
	c, err := OpenCounters(ctx, cfg.LogDir)
	if err != nil {
		return nil, err // not an interface that holds a nil pointer
	}
	return c, nil
}
