package client

import (
	"context"
	"time"

	"hostlab/internal/result"
)

// engine is a database with the tables, and one session that does the job.
type engine interface {
	// fill has the tables of a layout with the rows of clients and nothing else, as if
	// they had just been made: analysed, and all of it written.
	fill(ctx context.Context, l *tables, clients []string) error

	// read reads a package of the source's rows behind a key, keys of the target's keys.
	read(ctx context.Context, t int, after key, into *pkg) error
	keys(ctx context.Context, t int, after key, into *pkg) error
	// all reads a client's rows, for a check.
	all(ctx context.Context, t int, client string, into func(*pkg)) error

	begin(ctx context.Context) error
	insert(ctx context.Context, t int, p *pkg) error
	remove(ctx context.Context, t int, after, upTo key) (rows int64, err error)
	copyAll(ctx context.Context, t int) (rows int64, err error)
	removeAll(ctx context.Context, t int) (rows int64, err error)
	commit(ctx context.Context) error

	// watch samples what the session waits for until stop is called, where the engine
	// tells that. Readings of counters between the two have what only samples tell.
	watch(ctx context.Context) (stop func())
	// waits are the events that were seen since the last watch; nil: none are known.
	waits() *result.Waits
	counters(ctx context.Context) (counters, error)
	// session is the CPU time of the job's session in the server, and its wait for a CPU.
	session() (cpu, queued counter)
	// moveLog has the log in a directory.
	moveLog(ctx context.Context, dir string) error
	// explain says in one line what an error is, as far as the engine knows.
	explain(ctx context.Context, err error) error
	// alive is false once the engine cannot be used any more.
	alive() bool
	notes() []string
	close() error
}

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

// since is what was counted since an earlier reading.
func (c counters) since(b counters) counters {
	sub := func(a, b counter) counter {
		if a.why == "" {
			a.why = b.why
		}
		return counter{max(0, a.value-b.value), a.why}
	}
	return counters{sub(c.cpu, b.cpu), sub(c.session, b.session), sub(c.queued, b.queued), sub(c.logWrites, b.logWrites), sub(c.logSyncs, b.logSyncs),
		sub(c.logIO, b.logIO), sub(c.logElse, b.logElse), sub(c.logFull, b.logFull), sub(c.logBytes, b.logBytes), sub(c.dataReads, b.dataReads), sub(c.locks, b.locks), sub(c.others, b.others)}
}

// unknown has nothing, for one reason.
func unknown(why string) counters {
	c := counter{why: why}
	return counters{c, c, c, c, c, c, c, c, c, c, c, c}
}

func known(v float64) counter { return counter{value: v} }

func seconds(d time.Duration) counter { return counter{value: d.Seconds()} }
