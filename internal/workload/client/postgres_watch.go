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

// every is how often the session is looked at: ten milliseconds cost some half a percent
// of a CPU.
const every = 10 * time.Millisecond

// watched is what another session of the same server saw of the one that works: waits
// for locks, and for what no counter has, s. Log and data reads are counted exactly.
type watched struct {
	conn *pgx.Conn // nil: none
	mu   sync.Mutex
	sums map[explain.PartName]float64
	why  string // nothing was seen; empty: it was
}

func (w *watched) disconnect() { drop(&w.conn) }

// counted are the sums so far.
func (w *watched) counted() (locks, others counter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return counter{w.sums[explain.Locks], w.why}, counter{w.sums[explain.OtherWaits], w.why}
}

// add takes what was seen after so many seconds.
func (w *watched) add(part explain.PartName, seconds float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sums[part] += seconds
}

func (w *watched) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.why = "the session could not be watched: " + err.Error()
}

// watch implements engine. What fails here fails no run: the job is what is measured.
func (e *postgresEngine) watch(ctx context.Context) (stop func()) {
	w := &e.watched
	w.sums, w.why = map[explain.PartName]float64{}, ""
	if w.conn == nil || w.conn.IsClosed() {
		c, err := pgx.ConnectConfig(ctx, e.config)
		if err != nil {
			w.fail(err)
			return func() {}
		}
		w.conn = c
		if _, err := c.PgConn().Prepare(ctx, look, "SELECT coalesce(state, ''), coalesce(wait_event_type, ''), coalesce(wait_event, '') FROM pg_stat_get_activity($1)", nil); err != nil {
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
		part, err := w.ask(ctx, pid)
		if err != nil {
			w.fail(err)
			return
		}
		now := time.Now()
		w.add(part, now.Sub(last).Seconds())
		last = now
	}
}

// ask tells what the session does now. A question that is under way when the job ends is
// answered: to cancel it would take the connection with it.
func (w *watched) ask(ctx context.Context, pid string) (part explain.PartName, err error) {
	const limit = 5 * time.Second // only a server that hangs takes so long
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	part = explain.Idle
	rows := w.conn.PgConn().ExecPrepared(ctx, look, [][]byte{[]byte(pid)}, nil, nil)
	for rows.NextRow() {
		v := rows.Values()
		part, _ = sessions.Classify(string(v[0]), string(v[1]), string(v[2]))
	}
	_, err = rows.Close()
	return part, err
}
