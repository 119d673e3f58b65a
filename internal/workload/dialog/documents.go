package dialog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"hostlab/internal/privatedb"
	"hostlab/internal/workload/database"
)

// itemBytes is the length of an item's text, and maxText that of all documents.
const (
	itemBytes = 400
	maxText   = 1 << 30
)

// source is where a run reads its documents. A document is some items, which one query
// reads by the document's key.
type source struct {
	Documents, Items int
	Clients          int               // connections: what waits for one waits for the database
	File             string            `json:",omitempty"` // of SQLite
	Server           privatedb.Address // where there is no File
}

// databases are those of a session, and the documents and items that they hold.
type databases struct {
	work     string
	file     string // of SQLite; empty: none
	holds    [2]int // by file
	postgres database.Server
}

// source returns a database with so many documents of so many items.
func (d *databases) source(ctx context.Context, kind string, documents, items int) (s source, err error) {
	want := [2]int{documents, items}
	s = source{Documents: documents, Items: items}
	if kind == database.SQLite {
		if d.file == "" || d.holds != want {
			if err := d.fillFile(ctx, documents, items); err != nil {
				return s, database.ExplainFile(filepath.Join(d.work, "dialog"), err)
			}
			d.holds = want
		}
		s.File = d.file
		return s, ctx.Err()
	}
	settings := database.Quiet()
	settings["shared_buffers"] = fmt.Sprintf("%dkB", 65536+documents*items*itemBytes*2>>10)
	if err := d.postgres.Ready(ctx, settings, int64(documents)*int64(items)); err != nil {
		return s, err
	}
	if d.postgres.Holds != want {
		if err := d.fillServer(ctx, documents, items); err != nil {
			return s, d.postgres.Explain(ctx, err)
		}
		d.postgres.Holds = want
	}
	s.Server = d.postgres.Private().Address()
	return s, nil
}

// item is the text of one, by its number.
func item(n int) string {
	head := fmt.Sprintf("item %d of a document;", n)
	return head + strings.Repeat("x", itemBytes-len(head))
}

// table holds the items of all documents.
func table(documents, items int) database.Table {
	return database.Table{Name: "items", Columns: []string{"document", "item", "body"},
		Rows: int64(documents) * int64(items),
		Row: func(n int64) []any {
			return []any{n / int64(items), n % int64(items), item(int(n))}
		}}
}

// fillFile makes the file of SQLite, anew.
func (d *databases) fillFile(ctx context.Context, documents, items int) error {
	if err := d.closeFile(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(d.work, "dialog-")
	if err != nil {
		return fmt.Errorf("cannot make the database's directory: %w", err)
	}
	d.file = filepath.Join(dir, "documents.db")
	db, err := database.OpenFile(d.file, "", "journal_mode(off)", "synchronous(off)")
	if err != nil {
		return err
	}
	create := []string{"CREATE TABLE items (document INTEGER, item INTEGER, body TEXT, PRIMARY KEY (document, item)) WITHOUT ROWID"}
	return errors.Join(database.Fill(ctx, db, create, table(documents, items)), db.Close())
}

// fillServer makes the table in PostgreSQL, anew.
func (d *databases) fillServer(ctx context.Context, documents, items int) error {
	d.postgres.Holds = nil
	c, _, err := d.postgres.Conn(ctx)
	if err != nil {
		return err
	}
	if _, err := c.Exec(ctx,
		"DROP TABLE IF EXISTS items; CREATE UNLOGGED TABLE items (document integer, item integer, body text)",
		pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	if err := table(documents, items).Copy(ctx, c); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "ALTER TABLE items ADD PRIMARY KEY (document, item)"); err != nil {
		return err
	}
	_, err = c.Exec(ctx, "VACUUM (ANALYZE) items")
	return err
}

func (d *databases) closeFile() error {
	if d.file == "" {
		return nil
	}
	err := os.RemoveAll(filepath.Dir(d.file))
	d.file = ""
	return err
}

// close ends the databases and removes them. It may be called again.
func (d *databases) close() error { return errors.Join(d.closeFile(), d.postgres.Close()) }
