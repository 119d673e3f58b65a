package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"hostlab/internal/privatedb"
	"hostlab/internal/workload/database"
)

// postgresEngine is a private server, or one of the user's.
type postgresEngine struct {
	backend
	server *privatedb.Server // nil: the user's
	config *pgx.ConnConfig
	schema schema // of the user's server

	conn     *pgx.Conn
	watched  watched
	version  int // 150018
	made     *tables
	sql      []statements
	prepared map[string]bool
	params   [][]byte
}

// openPostgres starts a private server with its log in a directory.
func openPostgres(ctx context.Context, work, logDir string) (*postgresEngine, error) {
	settings := map[string]string{
		// Only what commits write is measured: nothing runs in the background, and what a
		// run loads is not in its log. Commits are as durable as by default.
		"autovacuum": "off", "wal_level": "minimal", "max_wal_senders": "0", "checkpoint_timeout": "1d", "max_wal_size": "16GB",
		"bgwriter_lru_maxpages": "0", "jit": "off", "shared_buffers": "256MB", "track_wal_io_timing": "on", "track_io_timing": "on",
	}
	cfg := privatedb.Config{Parent: work, LogDir: logDir, Settings: settings}
	server, err := database.Start(ctx, privatedb.PostgreSQL, "engine", cfg)
	if err != nil && strings.Contains(err.Error(), `"track_wal_io_timing"`) { // came with version 14
		delete(settings, "track_wal_io_timing")
		server, err = database.Start(ctx, privatedb.PostgreSQL, "engine", cfg)
	}
	if err != nil {
		return nil, err
	}
	config, err := server.Address().ConnConfig()
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &postgresEngine{server: server, config: config}, nil
}

// usePostgres takes a server of the user's.
func usePostgres(ctx context.Context, cfg *pgx.ConnConfig, name string) (_ *postgresEngine, err error) {
	cfg.RuntimeParams["application_name"] = "hostlab"
	cfg.BuildContextWatcherHandler = privatedb.CancelQueries
	e := &postgresEngine{config: cfg}
	if err := e.connected(ctx); err != nil {
		return nil, err
	}
	e.schema, err = claim(ctx, pgSchemas{e}, name)
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// connected has a connection, on which nothing is open.
func (e *postgresEngine) connected(ctx context.Context) error {
	if e.conn != nil && !e.conn.IsClosed() && e.conn.PgConn().TxStatus() == 'I' {
		return nil
	}
	e.disconnect()
	c, err := pgx.ConnectConfig(ctx, e.config)
	if err != nil {
		return err
	}
	e.conn, e.prepared = c, map[string]bool{}
	pid := int(c.PgConn().PID())
	if e.backend = (backend{task: pid}); e.server == nil {
		e.backend = backendOf(isHere(c.PgConn().Conn().RemoteAddr()), pid, "post") // postgres, postmaster
	}
	// A package's statements are planned once.
	return e.exec(ctx, "SET plan_cache_mode = force_generic_plan; SET client_min_messages = warning; SET synchronize_seqscans = off")
}

func (e *postgresEngine) disconnect() {
	e.watched.disconnect()
	drop(&e.conn)
}

// drop ends a connection that is broken, or not needed any more.
func drop(c **pgx.Conn) {
	if *c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = (*c).Close(ctx)
	*c = nil
}

func (e *postgresEngine) exec(ctx context.Context, sql string) error {
	_, err := e.conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

func (e *postgresEngine) fill(ctx context.Context, l *tables, clients []string) error {
	if err := e.connected(ctx); err != nil {
		return err
	}
	if e.made == nil || !sameTables(e.made, l) {
		if err := e.create(ctx, l); err != nil {
			return err
		}
	}
	e.made = l
	// What a transaction adds to tables that it emptied itself is in no log at wal_level
	// minimal.
	if err := e.exec(ctx, "BEGIN; TRUNCATE "+e.list(l)); err != nil {
		return err
	}
	for i := range l.list {
		t := &l.list[i]
		for _, client := range clients {
			r, w := io.Pipe()
			go func() {
				var b []byte
				w.CloseWithError(generate(t, i, l.seed, func(p *pkg) error {
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
			_, err := e.conn.PgConn().CopyFrom(ctx, r, "COPY "+qualified(e.schema.name, t.name)+" FROM STDIN")
			r.Close()
			if err != nil {
				return err
			}
		}
	}
	if err := e.exec(ctx, "COMMIT"); err != nil {
		return err
	}
	// VACUUM sets what the first reader of a row would set otherwise.
	if err := e.exec(ctx, "VACUUM (ANALYZE) "+e.list(l)); err != nil {
		return err
	}
	if err := e.exec(ctx, "CHECKPOINT"); err != nil && e.server != nil {
		return err // on the user's it takes a right that the run can do without
	}
	return nil
}

// list names all tables.
func (e *postgresEngine) list(l *tables) string { return strings.Join(l.in(e.schema.name), ", ") }

func (e *postgresEngine) create(ctx context.Context, l *tables) error {
	if e.made != nil {
		if err := e.exec(ctx, "DROP TABLE IF EXISTS "+e.list(e.made)); err != nil {
			return err
		}
		e.made = nil
		e.disconnect() // with its prepared statements
		if err := e.connected(ctx); err != nil {
			return err
		}
	}
	e.sql = nil
	var all []string
	for i := range l.list {
		t := &l.list[i]
		all = append(all, t.create(e.schema.name, "")...)
		e.sql = append(e.sql, t.statements(e.schema.name, l.size, func(n int) string { return "$" + strconv.Itoa(n) }))
	}
	return e.exec(ctx, strings.Join(all, "; "))
}

// prepare has a statement of that name.
func (e *postgresEngine) prepare(ctx context.Context, name, sql string) error {
	if e.prepared[name] {
		return nil
	}
	_, err := e.conn.PgConn().Prepare(ctx, name, sql, nil)
	e.prepared[name] = err == nil
	return err
}

// query runs a prepared statement and takes its rows.
func (e *postgresEngine) query(ctx context.Context, name, sql string, columns int, into *pkg, args ...string) error {
	if err := e.prepare(ctx, name, sql); err != nil {
		return err
	}
	e.params = e.params[:0]
	for _, a := range args {
		e.params = append(e.params, []byte(a))
	}
	into.reset(columns)
	rows := e.conn.PgConn().ExecPrepared(ctx, name, e.params, nil, nil)
	for rows.NextRow() {
		for _, v := range rows.Values() {
			into.add(v)
		}
	}
	_, err := rows.Close()
	return err
}

func (e *postgresEngine) read(ctx context.Context, t int, after key, into *pkg) error {
	return e.query(ctx, fmt.Sprint("read", t), e.sql[t].read, len(e.made.list[t].columns), into, after.doc, after.doc, after.item)
}

func (e *postgresEngine) keys(ctx context.Context, t int, after key, into *pkg) error {
	return e.query(ctx, fmt.Sprint("keys", t), e.sql[t].keys, len(keys), into, after.doc, after.doc, after.item)
}

func (e *postgresEngine) all(ctx context.Context, t int, client string, into func(*pkg)) error {
	tab := &e.made.list[t]
	rows := e.conn.PgConn().ExecParams(ctx, "SELECT "+tab.names()+" FROM "+qualified(e.schema.name, tab.name)+" WHERE mandt = $1", [][]byte{[]byte(client)}, nil, nil, nil)
	var p pkg
	for rows.NextRow() {
		p.reset(len(tab.columns))
		for _, v := range rows.Values() {
			p.add(v)
		}
		into(&p)
	}
	_, err := rows.Close()
	return err
}

func (e *postgresEngine) begin(ctx context.Context) error  { return e.exec(ctx, "BEGIN") }
func (e *postgresEngine) commit(ctx context.Context) error { return e.exec(ctx, commitText) }

// commitText is what a watched session shows while it commits.
const commitText = "COMMIT"

// maxParams is how many parameters a message has at most: their number has 16 bits.
const maxParams = 65535

func (e *postgresEngine) insert(ctx context.Context, t int, p *pkg) error {
	per := maxParams / p.columns
	for from := 0; from < p.rows(); from += per {
		rows := min(per, p.rows()-from)
		e.params = e.params[:0]
		for n := from * p.columns; n < (from+rows)*p.columns; n++ {
			e.params = append(e.params, p.value(n))
		}
		// The last package of a table is shorter, and comes once a run.
		name := fmt.Sprintf("insert%d_%d", t, rows)
		if !e.prepared[name] {
			if err := e.prepare(ctx, name, e.insertText(t, rows)); err != nil {
				return err
			}
		}
		if _, err := e.conn.PgConn().ExecPrepared(ctx, name, e.params, nil, nil).Close(); err != nil {
			return err
		}
	}
	return nil
}

// insertText is an insert of so many rows.
func (e *postgresEngine) insertText(t, rows int) string {
	tab := &e.made.list[t]
	var b strings.Builder
	b.WriteString("INSERT INTO " + qualified(e.schema.name, tab.name) + " (mandt, " + tab.names() + ") VALUES ")
	n := 0
	for r := range rows {
		if r > 0 {
			b.WriteByte(',')
		}
		b.WriteString("('" + target + "'")
		for range tab.columns {
			n++
			b.WriteString(",$")
			b.WriteString(strconv.Itoa(n))
		}
		b.WriteByte(')')
	}
	return b.String()
}

func (e *postgresEngine) remove(ctx context.Context, t int, after, upTo key) (int64, error) {
	name := fmt.Sprint("remove", t)
	if err := e.prepare(ctx, name, e.sql[t].remove); err != nil {
		return 0, err
	}
	e.params = e.params[:0]
	for _, a := range []string{after.doc, after.doc, after.item, upTo.doc, upTo.doc, upTo.item} {
		e.params = append(e.params, []byte(a))
	}
	tag, err := e.conn.PgConn().ExecPrepared(ctx, name, e.params, nil, nil).Close()
	return tag.RowsAffected(), err
}

func (e *postgresEngine) affected(ctx context.Context, sql string) (int64, error) {
	tag, err := e.conn.PgConn().ExecParams(ctx, sql, nil, nil, nil, nil).Close()
	return tag.RowsAffected(), err
}

func (e *postgresEngine) copyAll(ctx context.Context, t int) (int64, error) {
	return e.affected(ctx, e.sql[t].copyAll)
}

func (e *postgresEngine) removeAll(ctx context.Context, t int) (int64, error) {
	return e.affected(ctx, e.sql[t].dropAll)
}

func (e *postgresEngine) moveLog(ctx context.Context, dir string) error {
	e.disconnect()
	return e.server.MoveLog(ctx, dir)
}

func (e *postgresEngine) alive() bool { return e.server == nil || e.server.Err() == nil }

func (e *postgresEngine) explain(ctx context.Context, err error) error {
	if e.server != nil {
		return e.server.Explain(ctx, err)
	}
	return explainRemote(ctx, err)
}

func (e *postgresEngine) notes() []string { return e.schema.notes }

func (e *postgresEngine) close() error {
	err := e.schema.release(pgSchemas{e}, "schema", e.made)
	e.schema = schema{}
	e.disconnect()
	if e.server != nil {
		err = errors.Join(err, e.server.Close())
		e.server = nil
	}
	return err
}
