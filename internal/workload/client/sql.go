package client

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// sqlSession is what MariaDB and SQLite have in common: a session of database/sql.
type sqlSession struct {
	db    *sql.DB
	conn  *sql.Conn // nil: none
	made  *tables
	sql   []statements
	into  string // schema of the tables; empty: that of the connection
	found []sql.RawBytes
	scan  []any
}

// connected has a session of our own.
func (e *sqlSession) connected(ctx context.Context) (err error) {
	if e.conn == nil {
		e.conn, err = e.db.Conn(ctx)
	}
	return err
}

// disconnect ends the session rather than handing it back to the pool: what was open
// on it is gone.
func (e *sqlSession) disconnect() {
	if e.conn == nil {
		return
	}
	_ = e.conn.Raw(func(any) error { return errEnd })
	_ = e.conn.Close()
	e.conn = nil
}

func (e *sqlSession) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	res, err := e.conn.ExecContext(ctx, sql, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (e *sqlSession) execAll(ctx context.Context, list ...string) error {
	for _, s := range list {
		if _, err := e.exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// set takes the statements of a layout.
func (e *sqlSession) set(l *tables) {
	e.sql = nil
	for i := range l.list {
		e.sql = append(e.sql, l.list[i].statements(e.into, l.size, func(int) string { return "?" }))
	}
}

// query takes the rows of a query.
func (e *sqlSession) query(ctx context.Context, columns int, sql string, each func(), into *pkg, args ...any) error {
	rows, err := e.conn.QueryContext(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for len(e.found) < columns {
		e.found = append(e.found, nil)
	}
	e.scan = e.scan[:0]
	for i := range columns {
		e.scan = append(e.scan, &e.found[i])
	}
	into.reset(columns)
	for rows.Next() {
		if err := rows.Scan(e.scan...); err != nil {
			return err
		}
		for _, v := range e.found[:columns] {
			into.add(v)
		}
		if each != nil {
			each()
			into.reset(columns)
		}
	}
	return rows.Err()
}

func (e *sqlSession) read(ctx context.Context, t int, after key, into *pkg) error {
	return e.query(ctx, len(e.made.list[t].columns), e.sql[t].read, nil, into, after.doc, after.doc, after.item)
}

func (e *sqlSession) keys(ctx context.Context, t int, after key, into *pkg) error {
	return e.query(ctx, len(keys), e.sql[t].keys, nil, into, after.doc, after.doc, after.item)
}

func (e *sqlSession) all(ctx context.Context, t int, client string, into func(*pkg)) error {
	tab := &e.made.list[t]
	var p pkg
	return e.query(ctx, len(tab.columns), "SELECT "+tab.names()+" FROM "+qualified(e.into, tab.name)+" WHERE mandt = ?", func() { into(&p) }, &p, client)
}

func (e *sqlSession) remove(ctx context.Context, t int, after, upTo key) (int64, error) {
	return e.exec(ctx, e.sql[t].remove, after.doc, after.doc, after.item, upTo.doc, upTo.doc, upTo.item)
}

func (e *sqlSession) copyAll(ctx context.Context, t int) (int64, error) {
	return e.exec(ctx, e.sql[t].copyAll)
}

func (e *sqlSession) removeAll(ctx context.Context, t int) (int64, error) {
	return e.exec(ctx, e.sql[t].dropAll)
}

func (e *sqlSession) begin(ctx context.Context) error {
	_, err := e.exec(ctx, "BEGIN")
	return err
}

func (e *sqlSession) commit(ctx context.Context) error {
	_, err := e.exec(ctx, "COMMIT")
	return err
}

// insertRows is an insert of rows as text, in one statement.
func insertRows(b []byte, into string, t *table, client string, p *pkg, from, rows int) []byte {
	b = fmt.Appendf(b, "INSERT INTO %s (mandt, %s) VALUES ", into, t.names())
	for r := from; r < from+rows; r++ {
		if r > from {
			b = append(b, ',')
		}
		b = append(append(append(b, "('"...), client...), '\'')
		for c := range p.columns {
			b = append(b, ",'"...)
			for _, ch := range p.value(r*p.columns + c) {
				if ch == '\'' || ch == '\\' {
					b = append(b, '\\')
				}
				b = append(b, ch)
			}
			b = append(b, '\'')
		}
		b = append(b, ')')
	}
	return b
}

// marks are so many parameters of a row.
func marks(n int) string { return strings.Repeat(", ?", n)[2:] }
