package client

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/explain/postgres"
	"hostlab/internal/privatedb"
)

// onPostgres is PostgreSQL's dialect. Whatever kind of object there is in a schema depends
// on it; rights that new objects would be given are none. A schema is dropped without
// CASCADE: what is not ours keeps it.
var onPostgres = dialect{
	vendor: privatedb.PostgreSQL,
	// Only what commits write is measured: nothing runs in the background, and what a run
	// loads is not in its log. Commits are as durable as by default.
	settings: map[string]string{
		"autovacuum": "off", "wal_level": "minimal", "max_wal_senders": "0", "checkpoint_timeout": "1d",
		"max_wal_size":          "16GB",
		"bgwriter_lru_maxpages": "0", "jit": "off", "shared_buffers": "256MB", "track_wal_io_timing": "on",
		"track_io_timing": "on",
	},
	schemas: schemas{
		own:   "pg_*",
		word:  "schema",
		names: "SELECT nspname FROM pg_namespace WHERE nspname = $1 OR nspname ~ '^hostlab_[a-z0-9]{10}$' ORDER BY 1",
		objects: []string{"SELECT coalesce(pg_describe_object(classid, objid, 0), 'an object') FROM pg_depend " +
			"WHERE refclassid = 'pg_namespace'::regclass AND classid <> 'pg_default_acl'::regclass " +
			"AND refobjid = (SELECT oid FROM pg_namespace WHERE nspname = $1) ORDER BY 1"},
		create: "CREATE SCHEMA %s",
		drop:   "DROP SCHEMA %s",
	},
	mark:      dollar,
	sessionID: "SELECT pg_backend_pid()",
	thread:    "SELECT $1::int",
	comms:     []string{"post"}, // postgres, postmaster
	// A package's statements are planned once.
	via:    viaPgx,
	settle: "SET plan_cache_mode = force_generic_plan; SET client_min_messages = warning; SET synchronize_seqscans = off",
	use: func(d *connect.DSN) (driver.Connector, error) {
		cfg := d.Postgres
		cfg.RuntimeParams["application_name"] = "hostlab"
		cfg.BuildContextWatcherHandler = privatedb.CancelQueries
		return stdlib.GetConnector(*cfg), nil
	},
	load:  loadPostgres,
	count: countPostgres,
	look: func(pid string) (explain.Query, func([]explain.Row) seen) {
		const columns = "SELECT state, wait_event_type, wait_event, query = '" + commitText + "' FROM pg_stat_get_activity("
		return explain.Query{Name: "session " + pid, SQL: columns + pid + ")"}, func(rows []explain.Row) (s seen) {
			s.part, s.event = postgres.Classify("idle", "", "")
			for _, r := range rows {
				s.part, s.event = postgres.Classify(r.Text(0), r.Text(1), r.Text(2))
				s.commit = r.Bool(3)
			}
			return s
		}
	},
}

// loadPostgres copies rows. What a transaction adds to tables that it emptied itself is in
// no log at wal_level minimal.
func loadPostgres(ctx context.Context, e *served, l *tables, clients []string) error {
	if err := e.execAll(ctx, "BEGIN", "TRUNCATE "+e.named(l)); err != nil {
		return err
	}
	for i := range l.list {
		for _, client := range clients {
			if err := e.copyIn(ctx, l, i, client); err != nil {
				return err
			}
		}
	}
	// VACUUM sets what the first reader of a row would set otherwise.
	if err := e.execAll(ctx, "COMMIT", "VACUUM (ANALYZE) "+e.named(l)); err != nil {
		return err
	}
	if err := e.execAll(ctx, "CHECKPOINT"); err != nil && e.server != nil {
		return err // on the user's it takes a right that the run can do without
	}
	return nil
}

// copyIn fills a table with a client's rows.
func (e *served) copyIn(ctx context.Context, l *tables, i int, client string) error {
	r, w := io.Pipe()
	defer r.Close()
	go func() {
		var b []byte
		w.CloseWithError(generate(&l.list[i], i, l.seed, func(p *pkg) error {
			b = b[:0]
			for r := range p.rows() {
				b = append(b, client...)
				for c := range p.columns {
					b = append(append(b, '\t'), p.value(r*p.columns+c)...)
				}
				b = append(b, '\n')
			}
			_, err := w.Write(b)
			return err
		}))
	}()
	return inPgx(e.conn, func(c *pgx.Conn) error {
		_, err := c.PgConn().CopyFrom(ctx, r, "COPY "+qualified(e.into, l.list[i].name)+" FROM STDIN")
		return err
	})
}

func inPgx(c *sql.Conn, do func(*pgx.Conn) error) error {
	return c.Raw(func(c any) error { return do(c.(*stdlib.Conn).Conn()) })
}

// viaPgx is PostgreSQL's way past database/sql. A text is prepared once.
func viaPgx(ctx context.Context, conn *sql.Conn, text string, args [][]byte, row func([][]byte)) error {
	return inPgx(conn, func(c *pgx.Conn) error {
		s, err := c.Prepare(ctx, text, text)
		if err != nil {
			return err
		}
		rows := c.PgConn().ExecPrepared(ctx, s.Name, args, nil, nil)
		for rows.NextRow() {
			row(rows.Values())
		}
		_, err = rows.Close()
		return err
	})
}

// countPostgres reads what PostgreSQL counts. Sessions report to the views now and then;
// from version 15 on a function makes them do it now.
func countPostgres(ctx context.Context, e *served, l looks, c *counters) error {
	if e.version == 0 {
		if err := e.conn.QueryRowContext(ctx,
			"SELECT current_setting('server_version_num')::int").Scan(&e.version); err != nil {
			return err
		}
	}
	c.locks, c.others, c.logElse = l.in(explain.Locks), l.in(explain.OtherWaits), l.log()
	account, flush := postgres.Log(e.version)
	if flush.SQL == "" {
		old := counter{why: "takes PostgreSQL 15 or later"}
		c.logWrites, c.logSyncs, c.logIO, c.logBytes, c.dataReads = old, old, old, old, old
		return nil
	}
	if err := e.execAll(ctx, flush.SQL); err != nil {
		return err
	}
	ask := explain.DB{Conn: e.conn}
	log, err := explain.One(ctx, ask, account)
	if err != nil {
		return err
	}
	c.logBytes, c.logWrites, c.logSyncs = known(log.Float(0)), known(log.Float(1)), known(log.Float(2))
	c.logIO = known((log.Float(3) + log.Float(4)) / 1e6)
	reads, err := explain.One(ctx, ask, explain.Query{SQL: "SELECT blk_read_time, current_setting('track_io_timing'), " +
		"current_setting('track_wal_io_timing') FROM pg_stat_database WHERE datname = current_database()"})
	if err != nil {
		return err
	}
	c.dataReads = known(reads.Float(0) / 1000)
	if !reads.Bool(2) {
		c.logIO = counter{why: "the server does not time it: set track_wal_io_timing = on"}
	}
	if !reads.Bool(1) {
		c.dataReads = counter{why: "the server does not time it: set track_io_timing = on"}
	}
	return nil
}
