package client

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"hostlab/internal/privatedb"
	"hostlab/internal/workload/database"
)

// errEnd makes database/sql drop a connection.
var errEnd = driver.ErrBadConn

// mariadbEngine is a private server, or one of the user's.
type mariadbEngine struct {
	sqlSession
	backend
	server  *privatedb.Server // nil: the user's
	config  *mysql.Config     // of the user's
	schema  schema
	id      int64 // of the session in the server
	watched watched
	text    []byte
}

// logBytes is how large a redo log has to be for a run to fit in, so that none of it
// waits for a checkpoint. It follows from the parameters alone: all levels have the same.
func logBytes(rows int) int64 {
	const mb = 1 << 20
	need := int64(rows) * 3000 // with undo and pages' own records
	return min(max(64*mb, (need+mb-1)/mb*mb), 16<<30)
}

func openMariaDB(ctx context.Context, work, logDir string, rows int) (_ *mariadbEngine, err error) {
	settings := map[string]string{"innodb_buffer_pool_size": "256M", "innodb_stats_auto_recalc": "OFF", "innodb_max_dirty_pages_pct": "90", "innodb_adaptive_flushing": "OFF"}
	server, err := database.Start(ctx, privatedb.MariaDB, "engine", privatedb.Config{Parent: work, LogDir: logDir, LogBytes: logBytes(rows), Settings: settings})
	if err != nil {
		return nil, err
	}
	e := &mariadbEngine{server: server}
	if err := e.reopen(); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return e, nil
}

// reopen has a pool for the server as it is now.
func (e *mariadbEngine) reopen() (err error) {
	if e.db != nil {
		e.db.Close()
	}
	e.db, err = e.server.OpenMariaDB()
	return err
}

// useMariaDB takes a server of the user's.
func useMariaDB(ctx context.Context, cfg *mysql.Config, name string) (_ *mariadbEngine, err error) {
	cfg.InterpolateParams, cfg.Collation, cfg.Timeout = true, "utf8mb4_bin", 10*time.Second
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	e := &mariadbEngine{sqlSession: sqlSession{db: sql.OpenDB(connector)}, config: cfg}
	if err := e.connected(ctx); err != nil {
		e.db.Close()
		return nil, explainRemote(ctx, err)
	}
	if e.schema, err = claim(ctx, mariaSchemas{e}, name); err != nil {
		return nil, errors.Join(err, e.close())
	}
	e.into = e.schema.name
	return e, nil
}

func (e *mariadbEngine) connected(ctx context.Context) error {
	if e.conn != nil {
		return nil
	}
	if err := e.sqlSession.connected(ctx); err != nil {
		return err
	}
	if err := e.conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&e.id); err != nil {
		e.sqlSession.disconnect()
		return err
	}
	// Best effort: without it the session's CPU time is not known. MySQL has no such column.
	tid := 0
	_ = e.conn.QueryRowContext(ctx, "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = ?", e.id).Scan(&tid)
	if e.backend = (backend{task: tid}); e.server == nil {
		e.backend = backendOf(e.isHere(), tid, "maria", "mysql", "one_connection", "connection") // the last two are threads' names since 10.8
	}
	return nil
}

// isHere reports whether the user's server is on this host.
func (e *mariadbEngine) isHere() bool {
	if e.config.Net != "tcp" {
		return e.config.Net == "unix"
	}
	at, err := net.ResolveTCPAddr("tcp", e.config.Addr)
	return err == nil && isHere(at)
}

// disconnect also ends what the session does in the server: MariaDB itself only looks
// for a client that has gone when it wants to answer.
func (e *mariadbEngine) disconnect() {
	e.watched.disconnect()
	if e.conn == nil {
		return
	}
	e.sqlSession.disconnect()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, _ = e.db.ExecContext(ctx, "KILL "+strconv.FormatInt(e.id, 10)) // mostly gone already
}

func (e *mariadbEngine) fill(ctx context.Context, l *tables, clients []string) error {
	if err := e.connected(ctx); err != nil {
		return err
	}
	// What is loaded needs not be durable, only written when the run starts.
	if e.server != nil {
		if err := e.execAll(ctx, "SET GLOBAL innodb_flush_log_at_trx_commit = 0"); err != nil {
			return err
		}
	}
	fresh := e.made == nil || !sameTables(e.made, l)
	if fresh {
		if err := e.create(ctx, l); err != nil {
			return err
		}
	}
	e.made = l
	if err := e.execAll(ctx, "SET SESSION unique_checks = 0, foreign_key_checks = 0"); err != nil {
		return err
	}
	names := l.in(e.into)
	for i, name := range names {
		t := &l.list[i]
		if !fresh {
			if err := e.execAll(ctx, "TRUNCATE TABLE "+name); err != nil {
				return err
			}
		}
		if err := e.begin(ctx); err != nil {
			return err
		}
		for _, client := range clients {
			err := generate(t, i, l.seed, func(p *pkg) error {
				e.text = insertRows(e.text[:0], name, t, client, p, 0, p.rows())
				_, err := e.exec(ctx, string(e.text))
				return err
			})
			if err != nil {
				return err
			}
		}
		if err := e.commit(ctx); err != nil {
			return err
		}
	}
	if err := e.execAll(ctx, "SET SESSION unique_checks = 1, foreign_key_checks = 1", "ANALYZE TABLE "+strings.Join(names, ", ")); err != nil {
		return err
	}
	if e.server == nil {
		return nil
	}
	return e.checkpoint(ctx)
}

// checkpoint has all pages written, as far as that takes no more than some seconds.
func (e *mariadbEngine) checkpoint(ctx context.Context) error {
	if err := e.execAll(ctx, "SET GLOBAL innodb_flush_log_at_trx_commit = 1", "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0", "SET GLOBAL innodb_max_dirty_pages_pct = 0"); err != nil {
		return err
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		dirty, err := e.status(ctx, "Innodb_buffer_pool_pages_dirty")
		if err != nil {
			return err
		}
		if dirty < 20 {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return e.execAll(ctx, "SET GLOBAL innodb_max_dirty_pages_pct = 90")
}

func (e *mariadbEngine) create(ctx context.Context, l *tables) error {
	var all []string
	for _, name := range e.made.in(e.into) {
		all = append(all, "DROP TABLE IF EXISTS "+name)
	}
	e.made = nil
	e.set(l)
	for i := range l.list {
		all = append(all, l.list[i].create(e.into, "")...)
	}
	return e.execAll(ctx, all...)
}

func (e *mariadbEngine) insert(ctx context.Context, t int, p *pkg) error {
	const most = 1000 // rows a statement: well below the largest packet
	tab := &e.made.list[t]
	for from := 0; from < p.rows(); from += most {
		e.text = insertRows(e.text[:0], qualified(e.into, tab.name), tab, target, p, from, min(most, p.rows()-from))
		if _, err := e.exec(ctx, string(e.text)); err != nil {
			return err
		}
	}
	return nil
}

func (e *mariadbEngine) status(ctx context.Context, name string) (v float64, err error) {
	var n string
	err = e.conn.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&n, &v)
	return v, err
}

// counters: MariaDB counts writes of its log, and does not time them.
func (e *mariadbEngine) counters(ctx context.Context) (c counters, err error) {
	c = unknown("the server is not ours, and does not tell")
	if e.server != nil {
		u, err := e.server.CPU()
		if err != nil {
			return c, err
		}
		c.cpu = seconds(u.All)
	}
	c.session, c.queued = e.session()
	for name, to := range map[string]*counter{"Innodb_log_writes": &c.logWrites, "Innodb_os_log_written": &c.logBytes} {
		v, err := e.status(ctx, name)
		if err != nil {
			return c, err
		}
		*to = known(v)
	}
	locked, err := e.status(ctx, "Innodb_row_lock_time") // ms
	if err != nil {
		return c, err
	}
	c.locks = known(locked / 1000)
	c.others.why = "MariaDB does not tell"
	switch full, err := e.status(ctx, "Innodb_log_waits"); {
	case errors.Is(err, sql.ErrNoRows):
		c.logFull.why = "this version does not count it"
	case err != nil:
		return c, err
	default:
		c.logFull = known(full)
	}
	c.logSyncs.why = "MariaDB does not tell"
	c.logElse.why = "MariaDB does not time it"
	c.logIO.why = "MariaDB does not time its redo log"
	c.dataReads.why = "MariaDB does not time it"
	return c, nil
}

func (e *mariadbEngine) moveLog(ctx context.Context, dir string) error {
	e.watched.disconnect()
	e.sqlSession.disconnect()
	if err := e.server.MoveLog(ctx, dir); err != nil {
		return err
	}
	return e.reopen()
}

func (e *mariadbEngine) alive() bool { return e.server == nil || e.server.Err() == nil }

func (e *mariadbEngine) explain(ctx context.Context, err error) error {
	if err != nil {
		e.disconnect()
	}
	if e.server != nil {
		return e.server.Explain(ctx, err)
	}
	return explainRemote(ctx, err)
}

func (e *mariadbEngine) notes() []string { return e.schema.notes }

func (e *mariadbEngine) close() error {
	err := e.schema.release(mariaSchemas{e}, "database", e.made)
	e.schema = schema{}
	e.watched.disconnect()
	e.sqlSession.disconnect()
	e.db.Close()
	if e.server != nil {
		err = errors.Join(err, e.server.Close())
		e.server = nil
	}
	return err
}

// mariaSchemas are MariaDB's databases.
type mariaSchemas struct{ *mariadbEngine }

func (m mariaSchemas) find(ctx context.Context, name string) (ours, objects []string, exists bool, err error) {
	column := func(sql string, args ...any) (out []string, err error) {
		rows, err := m.conn.QueryContext(ctx, sql, args...)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				return nil, err
			}
			out = append(out, s)
		}
		return out, rows.Err()
	}
	names, err := column("SELECT schema_name FROM information_schema.schemata WHERE schema_name = ? OR schema_name REGEXP '^hostlab_[a-z0-9]{10}$' ORDER BY 1", name)
	if err != nil {
		return nil, nil, false, err
	}
	for _, n := range names {
		if strings.HasPrefix(n, prefix) {
			ours = append(ours, n)
		}
	}
	objects, err = column("SELECT table_name FROM information_schema.tables WHERE table_schema = ?", name)
	if err != nil {
		return nil, nil, false, err
	}
	routines, err := column("SELECT routine_name FROM information_schema.routines WHERE routine_schema = ?", name)
	if a, ok := errors.AsType[*mysql.MySQLError](err); ok && a.Number == 1146 { // ER_NO_SUCH_TABLE: a server without mysql.proc has none
		err = nil
	}
	return ours, append(objects, routines...), slices.Contains(names, name), err
}

func (m mariaSchemas) make(ctx context.Context, name string) error {
	return m.execAll(ctx, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
}

// drop is only asked for a database that is empty.
func (m mariaSchemas) drop(ctx context.Context, name string) error {
	return m.execAll(ctx, "DROP DATABASE "+name)
}

func (m mariaSchemas) dropTables(ctx context.Context, tables []string) error {
	return m.execAll(ctx, "DROP TABLE IF EXISTS "+strings.Join(tables, ", "))
}
