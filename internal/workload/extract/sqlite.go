package extract

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	_ "modernc.org/sqlite" // registers itself as "sqlite"

	"hostlab/internal/workload/thread"
)

// sqlite is the embedded engine: a file below the workload's directory, which the
// operating system caches.
type sqlite struct {
	dir string
	db  *sql.DB
}

func openSQLite(ctx context.Context, work string) (_ *sqlite, err error) {
	s := &sqlite{}
	if s.dir, err = os.MkdirTemp(work, "extract-"); err != nil {
		return nil, fmt.Errorf("cannot make the database's directory: %w", err)
	}
	if s.db, err = sql.Open("sqlite", "file:"+filepath.Join(s.dir, "extract.db")+"?_pragma=journal_mode(off)&_pragma=synchronous(off)"); err == nil {
		s.db.SetMaxOpenConns(1)
		err = s.db.PingContext(ctx)
	}
	if err != nil {
		return nil, errors.Join(oneLine(err), s.close())
	}
	return s, nil
}

// oneLine says what to do about a full disk. nil stays nil.
func oneLine(err error) error {
	if err != nil && strings.Contains(err.Error(), "disk is full") { // SQLITE_FULL
		return fmt.Errorf("the embedded database's disk is full: make room, make rows fewer, or choose another directory with TMPDIR, or of a study with --out (%w)", err)
	}
	return err
}

func (s *sqlite) load(ctx context.Context, rows int, seed uint64) (want File, err error) {
	var names, marks []string
	for _, c := range columns {
		names, marks = append(names, c.name+" "+c.sqlite), append(marks, "?")
	}
	if _, err := s.db.ExecContext(ctx, "DROP TABLE IF EXISTS lines"); err != nil {
		return want, oneLine(err)
	}
	if _, err := s.db.ExecContext(ctx, "CREATE TABLE lines ("+strings.Join(names, ", ")+")"); err != nil {
		return want, oneLine(err)
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return want, err
	}
	defer func() { _ = tx.Rollback() }() // nothing after Commit
	insert, err := tx.PrepareContext(ctx, "INSERT INTO lines VALUES ("+strings.Join(marks, ", ")+")")
	if err != nil {
		return want, err
	}
	defer insert.Close()
	m := newRowMaker(seed)
	var line []byte
	args := make([]any, len(columns))
	for range rows {
		line = m.next(line[:0])
		want.add(line, 1)
		for i, f := range bytes.Split(line[:len(line)-1], []byte{'\t'}) {
			args[i] = string(f) // column affinity makes numbers of those that are
		}
		if _, err := insert.ExecContext(ctx, args...); err != nil {
			return want, oneLine(err)
		}
	}
	return want, oneLine(tx.Commit())
}

// read reads packages of rows. The database works in the calling thread, whose CPU
// time within its calls is the database's.
func (s *sqlite) read(ctx context.Context, o options, each func(pkg) error) (u usage, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	rows, err := s.db.QueryContext(ctx, "SELECT * FROM lines")
	if err != nil {
		return u, err
	}
	defer rows.Close()
	fields := make([]sql.RawBytes, len(columns))
	into := make([]any, len(columns))
	for i := range fields {
		into[i] = &fields[i]
	}
	var p pkg
	for more := true; more; {
		p.reset()
		began := time.Now()
		cpu, ok := thread.CPUTime()
		for p.rows() < o.rows {
			if more = rows.Next(); !more {
				break
			}
			if err := rows.Scan(into...); err != nil {
				return u, err
			}
			for i, f := range fields {
				p.field(f, i == len(fields)-1)
			}
		}
		u.wait += time.Since(began)
		after, _ := thread.CPUTime()
		u.cpu += after - cpu
		u.hasCPU = ok
		if err := each(p); err != nil {
			return u, err
		}
	}
	return u, rows.Err()
}

func (s *sqlite) close() error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
