// Package store keeps the fleet's documents in SQLite or PostgreSQL: one schema and one text of each statement for
// both. Documents come in any order, twice, or from two programs at once; what the store says depends on none of that.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"hostlab/internal/explain/connect"
	"hostlab/internal/screen"
	"hostlab/internal/trust"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is an open one. Close must be called.
type Store struct {
	db       *sql.DB
	postgres *connect.DSN // nil: SQLite
	name     string       // for errors; "" where the server's name is in them
}

// Open opens a store: sqlite:PATH or postgres://... . Errors say what to do.
func Open(ctx context.Context, address string) (*Store, error) { return open(ctx, address, os.O_RDWR) }

// Make is Open that makes the file of a store where there is none.
func Make(ctx context.Context, address string) (*Store, error) {
	return open(ctx, address, os.O_RDWR|os.O_CREATE)
}

// open opens a store with its tables; how is that of os.OpenFile.
func open(ctx context.Context, address string, how int) (*Store, error) {
	s, err := start(address, how)
	if err != nil {
		return nil, err
	}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

// start reads an address; nothing is asked of the store yet.
func start(address string, how int) (*Store, error) {
	scheme, rest, _ := strings.Cut(address, ":")
	switch scheme {
	case "sqlite":
		return startSQLite(rest, how)
	case "postgres", "postgresql":
		dsn, err := connect.ParseOwn(address) // to other hosts with TLS
		switch {
		case errors.Is(err, connect.ErrPassword):
			return nil, unusable{"--store " + err.Error()}
		case err != nil:
			return nil, unusable{"--store: the address of PostgreSQL cannot be read; write postgres://USER@HOST/DATABASE"}
		}
		db := stdlib.OpenDB(*dsn.Postgres)
		// Those that read documents, and the one that keeps them: a connection costs PostgreSQL a process.
		db.SetMaxIdleConns(runtime.GOMAXPROCS(0) + 1)
		return &Store{db, dsn, ""}, nil
	}
	return nil, unusable{fmt.Sprintf("--store %q: expected sqlite:PATH or postgres://USER@HOST/DATABASE", scheme)}
}

// unusable is an error of the address itself.
type unusable struct{ text string }

func (u unusable) Error() string { return u.text }

// Unusable reports whether a store was not opened since its address is none.
func Unusable(err error) bool {
	_, is := errors.AsType[unusable](err)
	return is
}

func startSQLite(path string, how int) (*Store, error) {
	if path == "" {
		return nil, unusable{"--store sqlite: names no file"}
	}
	given := path
	switch dir, base, err := trust.Place(path); {
	case err == nil: // SQLite opens it by its name, and follows links
		path = filepath.Join(dir.Name(), base)
		dir.Close()
	case errors.Is(err, fs.ErrPermission):
		return nil, unusable{fmt.Sprintf("--store %s: this user may not look into its directory", given)}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, unusable{"--store " + err.Error()}
	}
	if err := local(path); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, unusable{fmt.Sprintf("--store %s is %s, not a regular file", given, trust.Kind(info.Mode()))}
	}
	// Others of this host must not read what hosts said of themselves.
	f, err := os.OpenFile(path, how, 0o600) //nolint:gosec // the user's own choice
	if errors.Is(err, fs.ErrNotExist) {     // a name that is mistyped makes no directories
		if _, there := os.Stat(filepath.Dir(path)); there == nil {
			return nil, unusable{fmt.Sprintf("--store: there is no %s; '%s' makes a store", given,
				screen.With("hostlab fleet ingest SPOOL", "--store", "sqlite:"+given))}
		}
		return nil, unusable{fmt.Sprintf("--store %s: its directory is not there", given)}
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("--store %s: this user may not write it", given)
	}
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	// A reader never waits for the writer with a write-ahead log, and a writer waits for another one.
	options := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(NORMAL)", "busy_timeout(30000)",
		"foreign_keys(ON)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(),
		RawQuery: options.Encode()}).String())
	if err != nil {
		return nil, err
	}
	return &Store{db, nil, " " + given}, nil
}

// migrate brings the store to the schema of this program. A store of a newer program is left alone.
func (s *Store) migrate(ctx context.Context) error {
	// Another program that turns the write-ahead log on at the same moment makes ours fail at once, whatever busy_timeout
	// says.
	// goose would put words of its own before it
	if err := s.again(ctx, isBusy, func() error { return s.db.PingContext(ctx) }); err != nil {
		return s.problem(err)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	dialect := goose.DialectSQLite3
	if s.postgres != nil {
		dialect = goose.DialectPostgres
	}
	p, err := goose.NewProvider(dialect, s.db, files)
	if err != nil {
		return s.problem(err)
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return s.problem(err)
	}
	if have > want {
		return fmt.Errorf("the store has version %d of its tables, and this hostlab knows %d: use the newer hostlab", have,
			want)
	}
	if have == want {
		return nil
	}
	return s.alone(ctx, func() (err error) {
		// Another program may make the same tables of SQLite: then ours fail, and are there at the next look.
		return s.problem(s.again(ctx, func(error) bool { return s.postgres == nil }, func() error {
			_, err := p.Up(ctx)
			return err
		}))
	})
}

// again tries what fails for a moment while another program makes the same store, for a second at most.
func (s *Store) again(ctx context.Context, passes func(error) bool, try func() error) (err error) {
	for range 20 {
		if err = try(); err == nil || !passes(err) || ctx.Err() != nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

func isBusy(err error) bool { return failure(err) == sqlite3.SQLITE_BUSY }

// failure is SQLite's primary code of an error; 0: it is none of SQLite's.
func failure(err error) int {
	if e, is := errors.AsType[*sqlite.Error](err); is {
		return e.Code() & 0xff
	}
	return 0
}

// gate is the number of PostgreSQL's advisory lock by which one program at a time makes tables.
const gate = 0x686f73746c6162

// alone works while no other hostlab makes tables in the same store. SQLite has one writer anyway.
func (s *Store) alone(ctx context.Context, work func() error) error {
	if s.postgres == nil {
		return work()
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return s.problem(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock("+strconv.Itoa(gate)+")"); err != nil {
		return s.problem(err)
	}
	err = work()
	_, unlocked := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock("+strconv.Itoa(gate)+")")
	return errors.Join(err, unlocked)
}

func (s *Store) Close() error { return s.db.Close() }

// refusals are PostgreSQL's codes for a role, a password and a database that it does not accept.
var refusals = []string{"28000", "28P01", "3D000"}

// problem says in one line what is wrong with the store. nil stays nil.
func (s *Store) problem(err error) error {
	if err == nil {
		return nil
	}
	if pg, is := errors.AsType[*pgconn.PgError](err); is && slices.Contains(refusals, pg.Code) {
		return fmt.Errorf("the store: PostgreSQL says: %s; 'createuser --pwprompt' makes a role, ~/.pgpass holds its "+
			"password, 'createdb --owner' makes a database", pg.Message)
	}
	if s.postgres != nil {
		err = s.postgres.Problem(err)
	}
	if code := failure(err); code == sqlite3.SQLITE_FULL || code == sqlite3.SQLITE_IOERR {
		return fmt.Errorf("the store%s: its disk is full or fails: %w", s.name, err)
	}
	return fmt.Errorf("the store%s: %w", s.name, err)
}

// text is a statement with this engine's placeholders: statements are written with ?.
func (s *Store) text(statement string) string {
	if s.postgres == nil {
		return statement
	}
	var out strings.Builder
	n := 0
	for _, r := range statement {
		if r != '?' {
			out.WriteRune(r)
			continue
		}
		n++
		out.WriteString("$" + strconv.Itoa(n))
	}
	return out.String()
}

// tx is a transaction in which no other program writes.
type tx struct {
	*sql.Tx
	s     *Store
	whole bool // documents without their bytes say nothing: all that is left is read anew
	held  map[string]*held
}

// write works in a transaction, which takes its turn among writers.
func (s *Store) write(ctx context.Context, work func(tx) error) error {
	t, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.problem(err)
	}
	defer t.Rollback() //nolint:errcheck // after Commit it does nothing
	if s.postgres != nil {
		if _, err := t.ExecContext(ctx, "SELECT pg_advisory_xact_lock("+strconv.Itoa(gate+1)+")"); err != nil {
			return s.problem(err)
		}
	}
	if err := work(tx{t, s, false, map[string]*held{}}); err != nil {
		return err
	}
	return s.problem(t.Commit())
}

func (t tx) exec(ctx context.Context, statement string, args ...any) error {
	_, err := t.ExecContext(ctx, t.s.text(statement), args...)
	return t.s.problem(err)
}

func (t tx) query(ctx context.Context, row func(scan func(...any) error) error, statement string, args ...any) error {
	return each(ctx, t.s, t.Tx, row, statement, args...)
}

func (s *Store) query(ctx context.Context, row func(scan func(...any) error) error, statement string,
	args ...any) error {
	return each(ctx, s, s.db, row, statement, args...)
}

// rows are those of a query, each read into the places of one T that its columns go to.
func rows[T any](ctx context.Context, from asker, places func(*T) []any, statement string,
	args ...any) (list []T, err error) {
	err = from.query(ctx, func(scan func(...any) error) error {
		var x T
		err := scan(places(&x)...)
		list = append(list, x)
		return err
	}, statement, args...)
	return list, err
}

// column are the values of a query with one column.
func column[T any](ctx context.Context, from asker, statement string, args ...any) ([]T, error) {
	return rows(ctx, from, func(x *T) []any { return []any{x} }, statement, args...)
}

// asker is a store or a transaction.
type asker interface {
	query(ctx context.Context, row func(scan func(...any) error) error, statement string, args ...any) error
}

// moment reads a time, which is kept in ns since 1970.
type moment struct{ at *time.Time }

func (m moment) Scan(kept any) error {
	ns, ok := kept.(int64)
	if !ok {
		return fmt.Errorf("%v is no time", kept)
	}
	*m.at = time.Unix(0, ns).UTC()
	return nil
}

type querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

func each(ctx context.Context, s *Store, q querier, row func(scan func(...any) error) error, statement string,
	args ...any) error {
	rows, err := q.QueryContext(ctx, s.text(statement), args...)
	if err != nil {
		return s.problem(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return s.problem(err)
		}
	}
	return s.problem(rows.Err())
}
