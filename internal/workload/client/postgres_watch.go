package client

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"hostlab/internal/explain"
	sessions "hostlab/internal/explain/postgres"
)

// look is the prepared question.
const look = "look"

// every is how often the session is looked at. Every 10 ms cost the server 1 % of a CPU
// (PostgreSQL 15 on a cloud guest, 80 ms in 8 s), which is as much as a job may pay.
const every = 20 * time.Millisecond

// watched is what another session of the same server saw of the one that works: waits
// for locks, for what no counter has, and for the log outside of commits, s. Commits and
// data reads are timed exactly.
type watched struct {
	conn *pgx.Conn // nil: none
	mu   sync.Mutex
	sums map[explain.PartName]float64
	log  float64 // outside of commits
	why  string  // nothing was seen; empty: it was
}

func (w *watched) disconnect() { drop(&w.conn) }

// counted are the sums so far.
func (w *watched) counted() (locks, others, log counter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return counter{w.sums[explain.Locks], w.why}, counter{w.sums[explain.OtherWaits], w.why}, counter{w.log, w.why}
}

// add takes what was seen after so many seconds.
func (w *watched) add(s seen, seconds float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sums[s.part] += seconds
	if s.log() {
		w.log += seconds
	}
}

// seen is what the session did at one moment.
type seen struct {
	part   explain.PartName
	event  string // in the server's words
	commit bool   // it was committing
}

// log reports whether the session waited for its log outside of commits: an INSERT syncs
// the segment of the log that it fills, makes the next, or waits until another process
// has written the buffers that it wants. A wait for a place in those (WALInsert) is a
// lock's, yet whoever has that may wait for the device.
func (s seen) log() bool {
	return !s.commit && (s.part == explain.LogWait || s.event == "LWLock:WALInsert")
}

func (w *watched) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.why = "the session could not be watched: " + err.Error()
}

// watch implements engine. What fails here fails no run: the job is what is measured.
func (e *postgresEngine) watch(ctx context.Context) (stop func()) {
	w := &e.watched
	w.sums, w.log, w.why = map[explain.PartName]float64{}, 0, ""
	if w.conn == nil || w.conn.IsClosed() {
		c, err := pgx.ConnectConfig(ctx, e.config)
		if err != nil {
			w.fail(err)
			return func() {}
		}
		w.conn = c
		if _, err := c.PgConn().Prepare(ctx, look, "SELECT coalesce(state, ''), coalesce(wait_event_type, ''), coalesce(wait_event, ''), coalesce(query, '') = '"+commitText+"' FROM pg_stat_get_activity($1)", nil); err != nil {
			w.fail(err)
			w.disconnect()
			return func() {}
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	pid := strconv.Itoa(int(e.conn.PgConn().PID()))
	ended.Go(func() { w.look(ctx, pid) })
	return sync.OnceFunc(func() {
		cancel()
		ended.Wait()
	})
}

// look samples until ctx ends. Each sample stands for the time since the one before.
func (w *watched) look(ctx context.Context, pid string) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		what, err := w.ask(ctx, pid)
		if err != nil {
			w.fail(err)
			return
		}
		now := time.Now()
		w.add(what, now.Sub(last).Seconds())
		last = now
	}
}

// ask tells what the session does now. A question that is under way when the job ends is
// answered: to cancel it would take the connection with it.
func (w *watched) ask(ctx context.Context, pid string) (s seen, err error) {
	const limit = 5 * time.Second // only a server that hangs takes so long
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	s.part = explain.Idle
	rows := w.conn.PgConn().ExecPrepared(ctx, look, [][]byte{[]byte(pid)}, nil, nil)
	for rows.NextRow() {
		v := rows.Values()
		s.part, s.event = sessions.Classify(string(v[0]), string(v[1]), string(v[2]))
		s.commit = string(v[3]) == "t"
	}
	_, err = rows.Close()
	return s, err
}
