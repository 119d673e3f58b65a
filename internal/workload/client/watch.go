package client

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/explain/postgres"
	"hostlab/internal/result"
)

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

// sum is the time of what was seen that is so.
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
