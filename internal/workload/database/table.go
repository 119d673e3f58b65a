package database

import (
	"context"
	"database/sql"
	"strings"

	"github.com/jackc/pgx/v5"
)

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
