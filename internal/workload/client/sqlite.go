package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hostlab/internal/trust"
	"hostlab/internal/workload/database"
)

// sqliteEngine is the database in this program: a file and its log, which lie together.
type sqliteEngine struct {
	sqlSession
	backend // none
	parent  string
	dir     string // in parent
}

// watch has nothing to do: no session of SQLite shows what another one waits for.
func (e *sqliteEngine) watch(context.Context) (stop func() looks) {
	return func() looks { return looks{} }
}

func openSQLite(dir string) (engine, error) {
	e := &sqliteEngine{parent: dir, sqlSession: sqlSession{mark: question, most: 1, prepares: true},
		backend: backend{why: "the database works in the job's thread"}}
	return e, e.place()
}

// place has an empty database in a directory of its own.
func (e *sqliteEngine) place() (err error) {
	if err := trust.AsRoot(e.parent); err != nil { // SQLite opens its files by name
		return err
	}
	if e.dir, err = os.MkdirTemp(e.parent, "hostlab-client-"); err != nil {
		return fmt.Errorf("cannot make the database's directory: %w", err)
	}
	// The log is not merged into the file in the middle of a run, whose commits alone
	// are to be timed.
	e.db, err = database.OpenFile(filepath.Join(e.dir, "client.db"), "", "journal_mode(wal)", "synchronous(off)",
		"cache_size(-262144)", "wal_autocheckpoint(0)")
	if err == nil {
		e.db.SetMaxOpenConns(1)
	}
	return err
}

// fill starts with a new file.
func (e *sqliteEngine) fill(ctx context.Context, l *tables, clients []string) error {
	if err := errors.Join(e.close(), e.place()); err != nil {
		return err
	}
	if err := e.connected(ctx); err != nil {
		return err
	}
	if err := e.begin(ctx); err != nil {
		return err
	}
	e.made = l
	e.set(l)
	for i := range l.list {
		t := &l.list[i]
		// SQLite has no decimals, and a key of text is what others have
		if err := e.execAll(ctx, t.create("", "TEXT")...); err != nil {
			return err
		}
		for _, client := range clients {
			if err := generate(t, i, l.seed, func(p *pkg) error { return e.put(ctx, i, client, p) }); err != nil {
				return err
			}
		}
	}
	return e.execAll(ctx, "COMMIT", "ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA synchronous = FULL")
}

func (e *sqliteEngine) counters(context.Context, looks) (counters, error) { //nolint:unparam // an engine's
	c := unknown("SQLite does not tell")
	c.locks = known(0) // nobody else has the file
	return c, nil
}

// moveLog has the next database elsewhere: its log cannot lie apart.
func (e *sqliteEngine) moveLog(_ context.Context, dir string) error {
	err := e.close()
	e.parent = dir
	return errors.Join(err, e.place())
}

func (e *sqliteEngine) alive() bool { return e.db != nil }

func (e *sqliteEngine) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	dir := e.dir
	_ = e.close() // with what was open; the next run makes it anew
	if cerr := ctx.Err(); cerr != nil {
		return cerr // SQLite says "interrupted"
	}
	if dir == "" {
		return err // it has been through this
	}
	return database.ExplainFile(dir, err)
}

func (e *sqliteEngine) notes() []string { return nil }

func (e *sqliteEngine) close() error {
	if e.db == nil {
		return nil
	}
	e.disconnect()
	err := errors.Join(e.db.Close(), os.RemoveAll(e.dir))
	e.db, e.made, e.dir = nil, nil, ""
	return err
}
