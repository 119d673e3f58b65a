package client

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	sessions "hostlab/internal/explain/mariadb"
	"hostlab/internal/result"
)

// mariadbWatcher asks for one session of the process list.
type mariadbWatcher struct {
	conn *sql.Conn
	sql  string
}

// watch implements engine. What the list shows is for events alone: of the parts of the
// time, InnoDB and the kernel count what the server tells of.
func (e *mariadbEngine) watch(ctx context.Context) (stop func()) {
	text := "SELECT COMMAND, COALESCE(STATE, '') FROM information_schema.PROCESSLIST WHERE ID = " + strconv.FormatInt(e.id, 10)
	if w, ok := e.watched.by.(*mariadbWatcher); ok {
		w.sql = text // the job's session may be another one
	}
	return e.watched.start(ctx, func() (watcher, error) {
		conn, err := e.db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		return &mariadbWatcher{conn, text}, nil
	})
}

// waits implements engine.
func (e *mariadbEngine) waits() *result.Waits { return e.watched.waits() }

func (w *mariadbWatcher) close() {
	_ = w.conn.Raw(func(any) error { return errEnd })
	_ = w.conn.Close()
}

// ask implements watcher.
func (w *mariadbWatcher) ask(ctx context.Context) (s seen, err error) {
	command, state := "Sleep", ""
	if err := w.conn.QueryRowContext(ctx, w.sql).Scan(&command, &state); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return s, err
	}
	s.part, s.event, _ = sessions.Classify(command, state)
	return s, nil
}
