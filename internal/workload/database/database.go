// Package database holds the databases that workloads bring along: private servers, which it
// starts, connects to and fills, and files of SQLite.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"hostlab/internal/privatedb"
	"hostlab/internal/workload"
)

// Values of the parameters that choose a database.
const (
	SQLite   = "sqlite"
	Embedded = "embedded" // SQLite, where the parameter is called engine
	Postgres = "postgres"
	MariaDB  = "mariadb"
)

// Start starts a private server below cfg.Parent, the workload's own directory. The
// parameter param chose it: it is at fault where the host has no such server.
func Start(ctx context.Context, v *privatedb.Vendor, param string, cfg privatedb.Config) (*privatedb.Server, error) {
	cfg.Mark = workload.Mark(cfg.Parent)
	s, err := privatedb.Start(ctx, v, cfg)
	if missing, ok := errors.AsType[*privatedb.Missing](err); ok {
		return nil, workload.Wrong(param, missing.Error(), "")
	}
	return s, err
}

// Installed looks for the programs of the server that a parameter chose; what is no server
// takes none. The error is a *workload.ParamError of that parameter.
func Installed(ctx context.Context, param, server string) error {
	v := privatedb.Named(server)
	if v == nil {
		return ctx.Err()
	}
	if _, err := v.Find(ctx); err != nil && ctx.Err() == nil {
		return workload.Wrong(param, err.Error(), "")
	}
	return ctx.Err()
}

// Quiet returns settings of a PostgreSQL whose data are made anew for every experiment and
// whose commits are not what is measured: nothing runs in the background, and nothing is
// made durable.
func Quiet() map[string]string {
	return map[string]string{"autovacuum": "off", "fsync": "off", "full_page_writes": "off", "wal_level": "minimal",
		"max_wal_senders":    "0",
		"checkpoint_timeout": "1d", "max_wal_size": "64GB", "bgwriter_lru_maxpages": "0", "jit": "off",
		"synchronize_seqscans": "off"}
}

// Server holds the private PostgreSQL of a session and a connection to it. Close must be
// called. It is not safe for concurrent use.
type Server struct {
	Work  string // the workload's own directory
	Param string // the parameter that chose it
	Holds any    // what its tables hold, as the workload says it; nil after a start

	server *privatedb.Server // nil: none
	room   []int64           // what it was started for
	conn   *pgx.Conn
}

// Ready starts a server with these settings, unless one runs that has room for as much.
func (s *Server) Ready(ctx context.Context, settings map[string]string, room ...int64) (err error) {
	enough := len(s.room) == len(room)
	for i, n := range room {
		enough = enough && s.room[i] >= n
	}
	if enough && s.server != nil && s.server.Err() == nil {
		return nil
	}
	if err := s.Close(); err != nil {
		return err
	}
	s.server, err = Start(ctx, privatedb.PostgreSQL, s.Param, privatedb.Config{Parent: s.Work, Settings: settings})
	s.room = room
	return err
}

// Private returns the server, nil before Ready.
func (s *Server) Private() *privatedb.Server { return s.server }

// Conn returns the session's connection, a new one where the last was lost.
func (s *Server) Conn(ctx context.Context) (_ *pgx.Conn, fresh bool, err error) {
	if s.conn != nil && !s.conn.IsClosed() && s.conn.PgConn().TxStatus() == 'I' {
		return s.conn, false, nil
	}
	s.disconnect()
	s.conn, err = s.server.Connect(ctx)
	return s.conn, true, err
}

func (s *Server) disconnect() {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx) // broken, or its server ends anyway
	s.server.AwaitEnd(int(s.conn.PgConn().PID()))
	s.conn = nil
}

// Explain returns what a user can act on in an error of the server or of a connection.
func (s *Server) Explain(ctx context.Context, err error) error {
	if s.server == nil {
		return err
	}
	return s.server.Explain(ctx, err)
}

// EndOr returns the end of the server, if that is what happened, in the place of what
// followed from it in a worker.
func (s *Server) EndOr(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || s.server == nil {
		return err
	}
	select {
	case <-s.server.Done():
		return s.server.Err()
	case <-time.After(time.Second): // its end may take a moment longer than that of a connection
		return err
	}
}

// Close ends the server and removes it. It may be called again.
func (s *Server) Close() error {
	s.Holds = nil
	if s.server == nil {
		return nil
	}
	s.disconnect()
	err := s.server.Close()
	s.server = nil
	return err
}

// OpenFile opens a file of SQLite. Each pragma is written name(value); mode, where it is not
// empty, is SQLite's, such as ro.
func OpenFile(file, mode string, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_pragma": pragmas}
	if mode != "" {
		q.Set("mode", mode)
	}
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive: https://www.sqlite.org/uri.html
	}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
}

// ExplainFile puts an error of SQLite or the file system in one line that says what to do.
// The name of a file in dir, which is gone soon, is left out. nil stays nil.
func ExplainFile(dir string, err error) error {
	if err == nil {
		return nil
	}
	where := filepath.Dir(dir)
	code := 0
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		code = e.Code() & 0xff // the primary code: https://www.sqlite.org/rescode.html
	}
	switch {
	case code == sqlite3.SQLITE_FULL || errors.Is(err, syscall.ENOSPC),
		runtime.GOOS == "windows" && errors.Is(err, syscall.Errno(112)): // ERROR_DISK_FULL
		return privatedb.DiskFull("SQLite", "", where)
	case errors.Is(err, os.ErrPermission), code == sqlite3.SQLITE_READONLY, code == sqlite3.SQLITE_PERM:
		return fmt.Errorf("the database cannot be written in %s: run as the user who owns it, or elsewhere", where)
	case code == sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf(
			"the database cannot be opened in %s: see that it can be written to and that files are not limited "+
				"(ulimit -n)", where)
	case code == sqlite3.SQLITE_IOERR:
		return fmt.Errorf("the file system of %s failed under the database (%w): look into the kernel's log, or use another "+
			"directory", where, err)
	}
	return errors.New(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
}

// Table is what a table holds at the start of a run.
type Table struct {
	Name    string
	Columns []string
	Rows    int64
	Row     func(n int64) []any // the nth row, from 0
}

// Copy fills a table of PostgreSQL.
func (t Table) Copy(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.CopyFrom(ctx, pgx.Identifier{t.Name}, t.Columns, pgx.CopyFromSlice(int(t.Rows),
		func(n int) ([]any, error) {
			return t.Row(int64(n)), nil
		}))
	return err
}

// Insert fills a table of SQLite.
func (t Table) Insert(ctx context.Context, tx *sql.Tx) error {
	marks := strings.Repeat(", ?", len(t.Columns))[2:]
	s, err := tx.PrepareContext(ctx, "INSERT INTO "+t.Name+" ("+strings.Join(t.Columns, ", ")+") VALUES ("+marks+")")
	if err != nil {
		return err
	}
	defer s.Close()
	for n := range t.Rows {
		if _, err := s.ExecContext(ctx, t.Row(n)...); err != nil {
			return err
		}
	}
	return nil
}

// Fill makes tables in a new file of SQLite: statements first, then their rows, all in one
// transaction.
func Fill(ctx context.Context, db *sql.DB, statements []string, tables ...Table) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing after a commit
	for _, text := range statements {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	for _, t := range tables {
		if err := t.Insert(ctx, tx); err != nil {
			return err
		}
	}
	return tx.Commit()
}
