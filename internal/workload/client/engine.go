package client

import (
	"cmp"
	"time"

	"hostlab/internal/explain"
)

// tables is a layout with its rows' seed, and what a package is.
type tables struct {
	list []table
	want []sums // of a client
	seed uint64
	size int // rows of a package
}

// in names the tables as they are called in a schema (empty: none). nil has none.
func (l *tables) in(schema string) (names []string) {
	if l == nil {
		return nil
	}
	for _, t := range l.list {
		names = append(names, qualified(schema, t.name))
	}
	return names
}

// counter is a number that only grows, and may be unknown.
type counter struct {
	value float64
	why   string // it is unknown; empty: it is known
}

// counters are what an engine counts by itself.
type counters struct {
	cpu       counter // of all of it, s
	session   counter // of the session, s
	queued    counter // the session waited for a CPU, s
	logWrites counter
	logSyncs  counter
	logIO     counter // writing and syncing the log, by whichever process did it, s
	logElse   counter // the session waited for the log outside of commits, s
	logFull   counter // times that it did, where nothing tells how long
	logBytes  counter
	dataReads counter // waiting for blocks that are in no memory, s
	locks     counter // waiting for a lock that another session or a thread of the server has, s
	others    counter // waiting for anything else that the server tells, s
}

func (c *counters) all() []*counter {
	return []*counter{&c.cpu, &c.session, &c.queued, &c.logWrites, &c.logSyncs, &c.logIO, &c.logElse, &c.logFull,
		&c.logBytes,
		&c.dataReads, &c.locks, &c.others}
}

// since is what was counted since an earlier reading.
func (c counters) since(before counters) counters {
	earlier := before.all()
	for i, now := range c.all() {
		now.value = max(0, now.value-earlier[i].value)
		now.why = cmp.Or(now.why, earlier[i].why)
	}
	return c
}

// unknown has nothing, for one reason.
func unknown(why string) (c counters) {
	for _, x := range c.all() {
		x.why = why
	}
	return c
}

func known(v float64) counter { return counter{value: v} }

func seconds(d time.Duration) counter { return counter{value: d.Seconds()} }

// backend is the process or thread of this host that serves the job's session.
type backend struct {
	task int    // its number in the kernel
	why  string // it is not known; empty: it is
}

// backendOf is that of a server of the user's, where the server says which process or
// thread it is and that is one of this host.
func backendOf(here bool, id int, names ...string) backend {
	if err := explain.Here(here, int64(id), names...); err != nil {
		return backend{why: err.Error()}
	}
	return backend{task: id}
}

func (b backend) session() (cpu, queued counter) {
	why := b.why
	if why == "" {
		run, queue, err := explain.SchedStat(int64(b.task))
		if err == nil {
			return known(run.Seconds()), known(queue.Seconds())
		}
		why = "this kernel does not tell"
	}
	return counter{why: why}, counter{why: why}
}
