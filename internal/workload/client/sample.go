package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/stat"

	"hostlab/internal/explain"
	"hostlab/internal/explain/postgres"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/workload"
)

// leastForP99 is how many commits a 99th percentile takes: two of them are beyond it.
const leastForP99 = 200

// parts are those of a job, as package explain calls them: it has no time between transactions.
var parts = slices.DeleteFunc(slices.Clone(explain.OfSessions), func(p explain.PartName) bool {
	return p == explain.Idle
})

// response is what a part of a job is called in records.
func response(p explain.PartName) string { return "part_" + string(p) }

// overlap is the share of a run by which its parts may exceed it before it is said.
const overlap = 0.03

// sample turns what a run gave into responses.
func sample(t *timing, c counters) workload.Sample {
	d, commit, calls := t.duration.Seconds(), t.commit(), t.inDatabase()
	out := workload.Sample{Operations: int64(len(t.commits)), Latency: workload.Distribution("commit", t.commits),
		Missing: map[string]string{}, Zero: map[string]string{}}
	out.Values = map[string]float64{"duration": d, "rows_per_s": float64(t.rows) / d, "app_time": max(0, d-calls),
		"db_time": calls, "read_time": t.read.Seconds(),
		"write_time": t.write.Seconds(), "commit_wait": commit}
	set := func(name string, c counter) {
		if c.why != "" {
			out.Missing[name] = c.why
			return
		}
		out.Values[name] = c.value
	}
	set("log_writes", c.logWrites)
	set("log_io", c.logIO)
	set("log_bytes", c.logBytes)
	set("log_write_avg", average(c))
	n := len(t.commits)
	commits := func(least int, why string, of func() float64) counter {
		switch {
		case n == 0:
			return counter{why: "no commit was made"}
		case n < least:
			return counter{why: why}
		}
		return known(of())
	}
	set("commit_mean", commits(1, "", func() float64 { return stat.Mean(t.commits, nil) }))
	set("commit_p50", commits(1, "", func() float64 { return stats.Quantile(t.commits, 0.5) }))
	few := fmt.Sprintf("a run has %d commits; p99 takes %d", n, leastForP99)
	set("commit_p99", commits(leastForP99, few, func() float64 { return stats.Quantile(t.commits, 0.99) }))
	set("commit_drift", commits(2, "a half of one commit has none", func() float64 {
		return stat.Mean(t.commits[n/2:], nil) / stat.Mean(t.commits[:n/2], nil)
	}))
	appCPU, driver := counter{why: "this system does not tell"}, 0.0
	if t.hasCPU {
		appCPU, driver = seconds(t.cpu), t.inCalls.Seconds()
	}
	set("app_cpu", appCPU)
	set("db_cpu", c.cpu)
	most := mostOfLog(t, c)
	split(t, c, driver, most, &out)
	out.Values["log_share"], out.Values["log_gain_bound"] = out.Values[response(explain.LogWait)]/d, most/d
	for _, part := range parts {
		if part != explain.Application && part != explain.DatabaseCPU && part != explain.LogWait {
			out.Zero[response(part)] = "compare = \"difference\" takes it"
		}
	}
	return out
}

// average is the time of a log write with its sync: all of the time by the syncs, or,
// where the write is the sync (open_datasync), by the writes.
func average(c counters) counter {
	switch {
	case c.logIO.why != "":
		return c.logIO
	case c.logSyncs.why == "" && c.logSyncs.value > 0:
		return known(c.logIO.value / c.logSyncs.value)
	case c.logWrites.why == "" && c.logWrites.value > 0:
		return known(c.logIO.value / c.logWrites.value)
	}
	return counter{why: "the log was not written"}
}

// mostOfLog is the most of a job's time, s, that can have been a wait for its log: all
// of the commits, and what other statements waited. Where nothing tells that, it is all
// of their time in which the session had no CPU.
func mostOfLog(t *timing, c counters) float64 {
	commit, calls := t.commit(), t.inDatabase()
	switch {
	case c.logElse.why == "":
		return min(calls, commit+c.logElse.value)
	case c.logFull.why == "" && c.logFull.value == 0:
		return commit
	case c.session.why == "":
		return max(commit, calls-c.session.value)
	}
	return calls
}

// split divides the elapsed time. What one source says twice is counted once: a log wait
// that nobody times is that of the commits, without the CPU time that is known of them.
// The time that the server was writing its log is no wait where the session had a CPU,
// or did not wait for it. CPU time of the driver is the application's as far as nothing
// else fills that time: it makes and reads messages while the session works on others.
func split(t *timing, c counters, driver, most float64, out *workload.Sample) {
	logWait, busy := c.logIO, t.busyInCommits()
	if logWait.why != "" {
		logWait = known(max(0, t.commit()-busy))
	}
	if c.logElse.why == "" { // a new segment of the log is in no counter
		logWait.value = max(logWait.value, c.logElse.value)
	}
	logWait.value = min(logWait.value, max(0, most-busy))
	rest, twice := t.duration.Seconds(), 0.0
	// What two sources say of one moment, as of the CPU time of a sync, or by a wait for a
	// CPU behind one, is counted where it is known best: each takes no more than what is
	// left, so that the parts add up.
	for _, p := range []struct {
		part    explain.PartName
		counter counter
		counted bool
	}{{explain.Application, known(out.Values["app_time"]), true}, {explain.DatabaseCPU, c.session, true},
		{explain.LogWait, logWait, true}, {explain.DataReads, c.dataReads, true},
		{explain.Locks, c.locks, false}, {explain.RunQueue, c.queued, false}, {explain.OtherWaits, c.others, false}} {
		if p.counter.why != "" {
			out.Missing[response(p.part)] = p.counter.why
			continue
		}
		v := min(p.counter.value, rest)
		if p.counted {
			twice += p.counter.value - v
		}
		out.Values[response(p.part)] = v
		rest -= v
	}
	beside := min(driver, rest)
	out.Values[response(explain.Application)] += beside
	rest -= beside
	if twice > overlap*t.duration.Seconds() {
		out.Warnings = append(out.Warnings,
			fmt.Sprintf("the parts of the elapsed time exceed it by %.0f %%: some of it was counted twice",
				100*twice/t.duration.Seconds()))
	}
	out.Values[response(explain.Unexplained)] = rest
}

// every is how often the session is looked at. Every 10 ms cost the server 1 % of a CPU
// (PostgreSQL 15 on a cloud guest, 80 ms in 8 s), which is as much as a job may pay.
const every = 20 * time.Millisecond

// looks are what another session of the same server saw of the one that works: its wait
// events, s. Commits and data reads are timed exactly. The zero looks saw nothing.
type looks struct {
	n      int
	events map[seen]float64
	why    string // not all was seen; empty: it was
}

// seen is what the session did at one moment.
type seen struct {
	part   explain.PartName
	event  string // in the server's words
	commit bool   // it was committing
}

func unseen(err error) looks { return looks{why: "the session could not be watched: " + err.Error()} }

// watch looks until stop is called, in the session beside the job's that there is or a new
// one. What fails here fails no run: the job is what is measured.
func (e *served) watch(ctx context.Context) (stop func() looks) {
	if e.beside == nil {
		conn, err := e.db.Conn(ctx)
		if err != nil {
			return func() looks { return unseen(err) }
		}
		e.beside = &ownSession{explain.DB{Conn: conn}}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan looks, 1)
	query, reads := e.look(e.id) // the job's session may be another one
	go func() { ended <- look(ctx, e.beside, query, reads) }()
	return sync.OnceValue(func() looks {
		cancel()
		l := <-ended
		if l.why != "" {
			e.unwatch() // it may be broken
		}
		return l
	})
}

func (e *served) unwatch() {
	if e.beside != nil {
		_ = e.beside.Close() // it is not needed any more
		e.beside = nil
	}
}

// ownSession is a session of a pool that others use too.
type ownSession struct{ explain.DB }

// Close ends the session rather than handing it back.
func (s ownSession) Close() error {
	_ = s.Conn.Raw(func(any) error { return errEnd })
	return s.Conn.Close()
}

// look samples until ctx ends. Each sample stands for the time since the one before. A
// question that is under way when the job ends is answered: to cancel it would take the
// connection with it.
func look(ctx context.Context, by explain.Asker, query explain.Query, reads func([]explain.Row) seen) (l looks) {
	const limit = 5 * time.Second // only a server that hangs takes so long
	tick := time.NewTicker(every)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return l
		case <-tick.C:
		}
		one, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		rows, err := by.Ask(one, query)
		cancel()
		if err != nil {
			return unseen(err)
		}
		now := time.Now()
		l.add(reads(rows), now.Sub(last).Seconds())
		last = now
	}
}

// add takes what was seen after so many seconds.
func (l *looks) add(s seen, seconds float64) {
	if l.events == nil {
		l.events = map[seen]float64{}
	}
	l.n++
	l.events[s] += seconds
}

func (l *looks) sum(is func(seen) bool) counter {
	c := counter{why: l.why}
	for s, seconds := range l.events {
		if is(s) {
			c.value += seconds
		}
	}
	return c
}

func (l *looks) in(part explain.PartName) counter {
	return l.sum(func(s seen) bool { return s.part == part })
}

// log is the time that waited for the log outside of commits.
func (l *looks) log() counter {
	return l.sum(func(s seen) bool { return !s.commit && postgres.WaitsForLog(s.part, s.event) })
}

// waits are the events, most time first. nil: nothing was seen, or not all of it.
func (l *looks) waits() *result.Waits {
	if l.why != "" || l.n == 0 {
		return nil
	}
	sum := map[result.Wait]float64{}
	for s, seconds := range l.events {
		if s.part == explain.Idle { // of a session whose job is under way: between its statements
			s.part = explain.Application
		}
		sum[result.Wait{Name: s.event, Part: string(s.part)}] += seconds
	}
	out := &result.Waits{Looks: l.n}
	for e, seconds := range sum {
		e.Seconds = seconds
		out.Events = append(out.Events, e)
	}
	slices.SortStableFunc(out.Events, func(a, b result.Wait) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Part, b.Part))
	})
	return out
}
