package client

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/privatedb"
	"hostlab/internal/workload/database"
)

// dialect is what differs between servers. A new one is a value of this type and a case in speaks.
type dialect struct {
	vendor   *privatedb.Vendor
	settings map[string]string    // of a private server
	logBytes func(rows int) int64 // of its log, where that has a fixed size; may be nil
	schemas
	mark func(n int) string
	// sessionID tells the session's number in the server; thread is its process's or thread's,
	// where the server tells that, with the names that it may have.
	sessionID, thread string
	comms             []string
	settle            string // statements of a new session; may be empty
	end               string // what ends a session, before its number; empty: it ends by itself
	via               direct // may be nil
	// use opens a server of the user's.
	use  func(d *connect.DSN) (driver.Connector, error)
	load func(ctx context.Context, e *served, l *tables, clients []string) error
	// count adds what the server counts, and what was seen.
	count func(ctx context.Context, e *served, l looks, c *counters) error
	// look is the question what the session does, and reads its answer.
	look func(id string) (explain.Query, func([]explain.Row) seen)
}

// served is a private server, or one of the user's.
type served struct {
	sqlSession
	backend
	dialect
	server  *privatedb.Server // nil: the user's
	dsn     *connect.DSN      // of the user's
	id      string            // of the session in the server
	schema  schema            // of the user's
	beside  *ownSession       // that watches the job's; nil: none
	version int               // of PostgreSQL: 150018

	complete bool // all tables of made are there
}

// speaks returns the dialect of an engine.
func speaks(engine string) *dialect {
	if engine == inMariaDB {
		return &onMariaDB
	}
	return &onPostgres
}

// log is how large the log of a private server is.
func (d *dialect) log(rows int) int64 {
	if d.logBytes == nil {
		return 0
	}
	return d.logBytes(rows)
}

// start has a private server with its log in a directory.
func start(ctx context.Context, d dialect, work, logDir string, p *CopyParams) (*served, error) {
	settings := maps.Clone(d.settings)
	for name, value := range p.Server {
		settings[name] = string(value)
	}
	cfg := privatedb.Config{Parent: work, LogDir: logDir, LogBytes: d.log(rowsOf(p)), Settings: settings}
	server, err := database.Start(ctx, d.vendor, "engine", cfg)
	if err != nil {
		return nil, err
	}
	e := &served{dialect: d, server: server, sqlSession: d.fresh()}
	if err := e.reopen(); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return e, nil
}

// fresh is a session that is not open yet.
func (d *dialect) fresh() sqlSession { return sqlSession{mark: d.mark, direct: d.via} }

// reopen has a pool for the server as it is now.
func (e *served) reopen() (err error) {
	if e.db != nil {
		e.db.Close()
	}
	e.db, err = e.server.Open()
	return err
}

// use takes a server of the user's, and a schema in it.
func use(ctx context.Context, d dialect, dsn *connect.DSN, name string) (_ *served, err error) {
	connector, err := d.use(dsn)
	if err != nil {
		return nil, err
	}
	e := &served{dialect: d, dsn: dsn, sqlSession: d.fresh()}
	e.db = sql.OpenDB(connector)
	if err := e.connected(ctx); err != nil {
		e.db.Close()
		return nil, e.remote(ctx, err)
	}
	if e.schema, err = e.claim(ctx, name); err != nil {
		return nil, errors.Join(err, e.close())
	}
	e.into = e.schema.name
	return e, nil
}

// connected has a session on which nothing is open.
func (e *served) connected(ctx context.Context) error {
	if e.conn != nil && e.conn.PingContext(ctx) == nil {
		return nil
	}
	e.disconnect() // the server, or what is between, may have ended it while it was idle
	if err := e.sqlSession.connected(ctx); err != nil {
		return err
	}
	if err := e.conn.QueryRowContext(ctx, e.sessionID).Scan(&e.id); err != nil {
		e.sqlSession.disconnect()
		return err
	}
	// Best effort: without it the session's CPU time is not known. MySQL does not tell it.
	task := 0
	_ = e.conn.QueryRowContext(ctx, e.thread, e.id).Scan(&task)
	if e.backend = (backend{task: task}); e.server == nil {
		e.backend = backendOf(e.dsn.Local(), task, e.comms...)
	}
	if e.settle == "" {
		return nil
	}
	return e.execAll(ctx, e.settle)
}

// disconnect also ends what the session does in the server, where that only looks for a
// client that has gone when it wants to answer.
func (e *served) disconnect() {
	e.unwatch()
	if e.conn == nil {
		return
	}
	e.sqlSession.disconnect()
	if e.end != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		_, _ = e.db.ExecContext(ctx, e.end+e.id) // mostly gone already
	}
}

func (e *served) fill(ctx context.Context, l *tables, clients []string) error {
	if err := e.connected(ctx); err != nil {
		return err
	}
	if !e.complete || !sameTables(e.made, l) {
		if err := e.create(ctx, l); err != nil {
			return err
		}
	}
	e.made = l
	return e.load(ctx, e, l, clients)
}

func (e *served) create(ctx context.Context, l *tables) error {
	var all []string
	e.complete = false
	if e.made != nil {
		if err := e.dropTables(ctx, e.made.in(e.into)); err != nil {
			return err
		}
		e.disconnect() // with its prepared statements
		if err := e.connected(ctx); err != nil {
			return err
		}
	}
	e.made = l // as far as they are made
	e.set(l)
	for i := range l.list {
		all = append(all, l.list[i].create(e.into)...)
	}
	err := e.execAll(ctx, all...)
	e.complete = err == nil
	return err
}

// counters reads what the server and the kernel count, beside what was seen until now.
func (e *served) counters(ctx context.Context, l looks) (c counters, err error) {
	c = unknown("the server is not ours, and does not tell")
	if e.server != nil {
		u, err := e.server.CPU()
		if err != nil {
			return c, err
		}
		c.cpu = seconds(u.All)
	}
	c.session, c.queued = e.session()
	return c, e.count(ctx, e, l, &c)
}

func (e *served) moveLog(ctx context.Context, dir string) error {
	e.disconnect()
	if err := e.server.MoveLog(ctx, dir); err != nil {
		return err
	}
	return e.reopen()
}

func (e *served) alive() bool { return e.server == nil || e.server.Err() == nil }

func (e *served) explain(ctx context.Context, err error) error {
	if err != nil {
		e.disconnect()
	}
	if e.server != nil {
		return e.server.Explain(ctx, err)
	}
	return e.remote(ctx, err)
}

func (e *served) close() error {
	err := e.release()
	e.schema = schema{}
	e.disconnect()
	e.db.Close()
	if e.server != nil {
		err = errors.Join(err, e.server.Close())
		e.server = nil
	}
	return err
}

// dollar is a parameter of PostgreSQL.
func dollar(n int) string { return "$" + strconv.Itoa(n) }

func (e *served) named(l *tables) string { return strings.Join(l.in(e.into), ", ") }
