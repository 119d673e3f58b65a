package dialog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // registers itself as "sqlite"

	"hostlab/internal/postgres"
	"hostlab/internal/workload/database"
)

// The databases that a step may wait for. none: it sleeps.
const (
	inSQLite   = "sqlite"
	inPostgres = "postgres"
)

// itemBytes is the length of an item's text, and maxText that of all documents.
const (
	itemBytes = 400
	maxText   = 1 << 30
)

// stock is where a run's documents are, as the worker is told. A document is some
// items, which one query reads by the document's key.
type stock struct {
	Documents, Items int
	Clients          int              // connections: what waits for one waits for the database
	File             string           `json:",omitempty"` // of SQLite
	Server           postgres.Address // where there is no File
}

// shelf keeps the databases of a session. A value with a work directory is ready.
type shelf struct {
	work   string
	file   string // of SQLite; "": none
	filled [2]int // documents and items that it holds
	server *postgres.Server
	holds  [2]int
}

// stock has a database with so many documents of so many items.
func (h *shelf) stock(ctx context.Context, kind string, documents, items int) (s stock, err error) {
	want := [2]int{documents, items}
	s = stock{Documents: documents, Items: items}
	if kind == inSQLite {
		if h.file == "" || h.filled != want {
			if err := h.fill(ctx, documents, items); err != nil {
				return s, full(err)
			}
			h.filled = want
		}
		s.File = h.file
		return s, ctx.Err()
	}
	if h.server != nil && h.server.Err() != nil {
		if err := h.closeServer(); err != nil {
			return s, err
		}
	}
	if h.server == nil {
		settings := database.Quiet()
		settings["shared_buffers"] = fmt.Sprintf("%dkB", 65536+documents*items*itemBytes*2>>10)
		if h.server, err = database.Postgres(ctx, h.work, "database", settings); err != nil {
			h.server = nil
			return s, err
		}
	}
	if h.holds != want {
		if err := h.load(ctx, documents, items); err != nil {
			return s, h.server.Explain(ctx, err)
		}
		h.holds = want
	}
	s.Server = h.server.Address()
	return s, nil
}

// item is the text of one, by its number.
func item(n int) string {
	head := fmt.Sprintf("item %d of a document;", n)
	return head + strings.Repeat("x", itemBytes-len(head))
}

// fill makes the file of SQLite, anew.
func (h *shelf) fill(ctx context.Context, documents, items int) (err error) {
	if err := h.closeFile(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(h.work, "dialog-")
	if err != nil {
		return fmt.Errorf("cannot make the database's directory: %w", err)
	}
	h.file = filepath.Join(dir, "documents.db")
	db, err := sql.Open("sqlite", "file:"+h.file+"?_pragma=journal_mode(off)&_pragma=synchronous(off)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE items (document INTEGER, item INTEGER, body TEXT, PRIMARY KEY (document, item)) WITHOUT ROWID"); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing after Commit
	insert, err := tx.PrepareContext(ctx, "INSERT INTO items VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for n := range documents * items {
		if _, err := insert.ExecContext(ctx, n/items, n%items, item(n)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// full says what to do about a full disk. nil stays nil.
func full(err error) error {
	if err != nil && strings.Contains(err.Error(), "disk is full") { // SQLITE_FULL
		return fmt.Errorf("the embedded database's disk is full: make room, make documents fewer, or choose another directory with TMPDIR, or of a study with --out (%w)", err)
	}
	return err
}

// load makes the table in PostgreSQL, anew.
func (h *shelf) load(ctx context.Context, documents, items int) error {
	h.holds = [2]int{}
	c, err := h.server.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the server ends anyway
	if _, err := c.Exec(ctx, "DROP TABLE IF EXISTS items; CREATE UNLOGGED TABLE items (document integer, item integer, body text)", pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	if _, err := c.PgConn().CopyFrom(ctx, &itemReader{items: items, all: documents * items}, "COPY items FROM STDIN"); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "ALTER TABLE items ADD PRIMARY KEY (document, item)"); err != nil {
		return err
	}
	_, err = c.Exec(ctx, "VACUUM (ANALYZE) items")
	return err
}

// itemReader gives the items in COPY's text format.
type itemReader struct {
	items, all, next int
	left             []byte
}

// Read implements io.Reader.
func (r *itemReader) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		if r.next == r.all {
			return 0, io.EOF
		}
		r.left = fmt.Appendf(nil, "%d\t%d\t%s\n", r.next/r.items, r.next%r.items, item(r.next))
		r.next++
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

func (h *shelf) closeFile() error {
	if h.file == "" {
		return nil
	}
	err := os.RemoveAll(filepath.Dir(h.file))
	h.file = ""
	return err
}

func (h *shelf) closeServer() error {
	h.holds = [2]int{}
	if h.server == nil {
		return nil
	}
	err := h.server.Close()
	h.server = nil
	return err
}

// close ends the databases and removes them. It may be called again.
func (h *shelf) close() error { return errors.Join(h.closeFile(), h.closeServer()) }
