package client

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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

// watched is what another session of the same server saw of the one that works: its
// wait events, waits for locks, for what no counter has, and for the log outside of
// commits, s. Commits and data reads are timed exactly.
type watched struct {
	by     explain.Asker // in a session beside the job's; nil: none
	query  explain.Query
	reads  func([]explain.Row) seen
	mu     sync.Mutex
	looks  int
	events map[seen]float64
	sums   map[explain.PartName]float64
	log    float64 // outside of commits
	why    string  // nothing was seen; empty: it was
}

// seen is what the session did at one moment.
type seen struct {
	part   explain.PartName
	event  string // in the server's words
	commit bool   // it was committing
}

// reset forgets what was seen.
func (w *watched) reset() {
	w.events, w.sums = map[seen]float64{}, map[explain.PartName]float64{}
	w.looks, w.log, w.why = 0, 0, ""
}

func (w *watched) disconnect() {
	if w.by != nil {
		_ = w.by.Close() // it is not needed any more
		w.by = nil
	}
}

// start looks until stop is called, in the session that there is or a new one. What
// fails here fails no run: the job is what is measured.
func (w *watched) start(ctx context.Context, query explain.Query, reads func([]explain.Row) seen, connect func() (explain.Asker, error)) (stop func()) {
	if w.why != "" {
		w.disconnect() // it may be broken
	}
	w.reset()
	if w.by == nil {
		by, err := connect()
		if err != nil {
			w.fail(fmt.Errorf("the session could not be watched: %w", err))
			return func() {}
		}
		w.by = by
	}
	w.query, w.reads = query, reads // the job's session may be another one
	ctx, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() { w.look(ctx) })
	return sync.OnceFunc(func() {
		cancel()
		ended.Wait()
	})
}

// look samples until ctx ends. Each sample stands for the time since the one before. A
// question that is under way when the job ends is answered: to cancel it would take the
// connection with it.
func (w *watched) look(ctx context.Context) {
	const limit = 5 * time.Second // only a server that hangs takes so long
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		one, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		rows, err := w.by.Ask(one, w.query)
		cancel()
		if err != nil {
			w.fail(fmt.Errorf("the session could not be watched: %w", err))
			return
		}
		now := time.Now()
		w.add(w.reads(rows), now.Sub(last).Seconds())
		last = now
	}
}

func (w *watched) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.why = err.Error()
}

// add takes what was seen after so many seconds.
func (w *watched) add(s seen, seconds float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	w.sums[s.part] += seconds
	if !s.commit && postgres.WaitsForLog(s.part, s.event) {
		w.log += seconds
	}
	s.commit = false
	w.events[s] += seconds
}

// counted are the sums so far.
func (w *watched) counted() (locks, others, log counter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return counter{w.sums[explain.Locks], w.why}, counter{w.sums[explain.OtherWaits], w.why}, counter{w.log, w.why}
}

// waits are the events so far, most time first. nil: nothing was seen, or not all of it.
func (w *watched) waits() *result.Waits {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.why != "" || w.looks == 0 {
		return nil
	}
	sum := map[result.Wait]float64{}
	for s, seconds := range w.events {
		if s.part == explain.Idle { // of a session whose job is under way: between its statements
			s.part = explain.Application
		}
		sum[result.Wait{Name: s.event, Part: string(s.part)}] += seconds
	}
	out := &result.Waits{Looks: w.looks}
	for _, e := range slices.SortedFunc(maps.Keys(sum), func(a, b result.Wait) int {
		return cmp.Or(cmp.Compare(sum[b], sum[a]), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Part, b.Part))
	}) {
		e.Seconds = sum[e]
		out.Events = append(out.Events, e)
	}
	return out
}
