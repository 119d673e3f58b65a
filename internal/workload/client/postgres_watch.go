package client

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

	sessions "hostlab/internal/explain/postgres"
	"hostlab/internal/result"
)

// look is the prepared question.
const look = "look"

// postgresWatcher asks for one backend.
type postgresWatcher struct {
	conn *pgx.Conn
	pid  []byte
}

// watch implements engine.
func (e *postgresEngine) watch(ctx context.Context) (stop func()) {
	pid := []byte(strconv.Itoa(int(e.conn.PgConn().PID())))
	if w, ok := e.watched.by.(*postgresWatcher); ok {
		w.pid = pid // the job's session may be another one
	}
	return e.watched.start(ctx, func() (watcher, error) {
		w := &postgresWatcher{pid: pid}
		var err error
		if w.conn, err = pgx.ConnectConfig(ctx, e.config); err != nil {
			return nil, err
		}
		if _, err := w.conn.PgConn().Prepare(ctx, look, "SELECT coalesce(state, ''), coalesce(wait_event_type, ''), coalesce(wait_event, ''), coalesce(query, '') = '"+commitText+"' FROM pg_stat_get_activity($1)", nil); err != nil {
			w.close()
			return nil, err
		}
		return w, nil
	})
}

// waits implements engine.
func (e *postgresEngine) waits() *result.Waits { return e.watched.waits() }

func (w *postgresWatcher) close() { drop(&w.conn) }

// ask implements watcher.
func (w *postgresWatcher) ask(ctx context.Context) (s seen, err error) {
	s.part, s.event = sessions.Classify("idle", "", "")
	rows := w.conn.PgConn().ExecPrepared(ctx, look, [][]byte{w.pid}, nil, nil)
	for rows.NextRow() {
		v := rows.Values()
		s.part, s.event = sessions.Classify(string(v[0]), string(v[1]), string(v[2]))
		s.commit = string(v[3]) == "t"
	}
	_, err = rows.Close()
	return s, err
}
