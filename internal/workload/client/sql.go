package client

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
)

// errEnd makes database/sql drop a connection.
var errEnd = driver.ErrBadConn

// sqlSession is a session of database/sql.
type sqlSession struct {
	db     *sql.DB
	conn   *sql.Conn // nil: none
	made   *tables
	into   string           // schema of the tables; empty: that of the connection
	mark   func(int) string // the nth parameter of a statement
	direct direct           // may be nil

	texts   []statements
	inserts map[[2]int]string // by table and rows
	raw     [][]byte
	args    []any
}

// direct is a way past database/sql, which would make a value of each parameter and column.
// Parameters are text, and so are the columns of a row.
type direct func(ctx context.Context, c *sql.Conn, text string, args [][]byte, row func([][]byte)) error

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

func (e *sqlSession) exec(ctx context.Context, text string, args ...any) (int64, error) {
	res, err := e.conn.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (e *sqlSession) execAll(ctx context.Context, list ...string) error {
	for _, s := range list {
		if _, err := e.conn.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// set takes the statements of a layout.
func (e *sqlSession) set(l *tables) {
	e.texts, e.inserts = nil, map[[2]int]string{}
	for i := range l.list {
		e.texts = append(e.texts, l.list[i].statements(e.into, l.size, e.mark))
	}
}

// do runs a statement and hands its rows to row; nil: it has none.
func (e *sqlSession) do(ctx context.Context, text string, args [][]byte, row func([][]byte)) error {
	if e.direct != nil {
		return e.direct(ctx, e.conn, text, args, row)
	}
	e.args = e.args[:0]
	for _, a := range args {
		e.args = append(e.args, string(a))
	}
	if row == nil {
		_, err := e.conn.ExecContext(ctx, text, e.args...)
		return err
	}
	rows, err := e.conn.QueryContext(ctx, text, e.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	found, scan := make([][]byte, len(columns)), make([]any, len(columns))
	for i := range found {
		scan[i] = (*sql.RawBytes)(&found[i])
	}
	for rows.Next() {
		if err := rows.Scan(scan...); err != nil {
			return err
		}
		row(found)
	}
	return rows.Err()
}

// query takes the rows of a query, all of them, or each by itself.
func (e *sqlSession) query(ctx context.Context, columns int, text string, each func(), into *pkg,
	args ...string) error {
	into.reset(columns)
	e.raw = e.raw[:0]
	for _, a := range args {
		e.raw = append(e.raw, []byte(a))
	}
	return e.do(ctx, text, e.raw, func(values [][]byte) {
		for _, v := range values {
			into.add(v)
		}
		if each != nil {
			each()
			into.reset(columns)
		}
	})
}

// column returns the first column of a query's rows.
func (e *sqlSession) column(ctx context.Context, text string, args ...string) (out []string, err error) {
	var p pkg
	err = e.query(ctx, 1, text, func() { out = append(out, string(p.value(0))) }, &p, args...)
	return out, err
}

// read reads a package of the source's rows behind a key, keys of the target's keys.
func (e *sqlSession) read(ctx context.Context, t int, after key, into *pkg) error {
	return e.query(ctx, len(e.made.list[t].columns), e.texts[t].read, nil, into, after.doc, after.doc, after.item)
}

func (e *sqlSession) keys(ctx context.Context, t int, after key, into *pkg) error {
	return e.query(ctx, len(keys), e.texts[t].keys, nil, into, after.doc, after.doc, after.item)
}

// all reads a client's rows, each by itself.
func (e *sqlSession) all(ctx context.Context, t int, client string, into func(*pkg)) error {
	tab := &e.made.list[t]
	var p pkg
	return e.query(ctx, len(tab.columns), "SELECT "+tab.names()+" FROM "+qualified(e.into,
		tab.name)+" WHERE mandt = "+e.mark(1),
		func() { into(&p) }, &p, client)
}

func (e *sqlSession) insert(ctx context.Context, t int, p *pkg) error {
	return e.put(ctx, t, target, p)
}

// What a statement has at most: parameters by PostgreSQL's protocol (Bind), and rows to stay well below the largest
// packet of MariaDB.
const (
	mostParams = 65535
	mostRows   = 1000
)

// put inserts a client's rows.
func (e *sqlSession) put(ctx context.Context, t int, client string, p *pkg) error {
	per, of := min(mostRows, mostParams/(p.columns+1)), []byte(client)
	for from := 0; from < p.rows(); from += per {
		rows := min(per, p.rows()-from)
		e.raw = e.raw[:0]
		for r := from; r < from+rows; r++ {
			e.raw = append(e.raw, of)
			for n := r * p.columns; n < (r+1)*p.columns; n++ {
				e.raw = append(e.raw, p.value(n))
			}
		}
		// The last package of a table is shorter, and comes once a run.
		text := e.inserts[[2]int{t, rows}]
		if text == "" {
			text = insertText(qualified(e.into, e.made.list[t].name), &e.made.list[t], rows, e.mark)
			e.inserts[[2]int{t, rows}] = text
		}
		if err := e.do(ctx, text, e.raw, nil); err != nil {
			return err
		}
	}
	return nil
}

func (e *sqlSession) remove(ctx context.Context, t int, after, upTo key) (int64, error) {
	return e.exec(ctx, e.texts[t].remove, after.doc, after.doc, after.item, upTo.doc, upTo.doc, upTo.item)
}

func (e *sqlSession) begin(ctx context.Context) error { return e.execAll(ctx, "BEGIN") }

func (e *sqlSession) commit(ctx context.Context) error { return e.execAll(ctx, commitText) }

// commitText is what a watched session shows while it commits.
const commitText = "COMMIT"

// insertText is an insert of so many rows, with their client and columns as parameters.
func insertText(into string, t *table, rows int, mark func(int) string) string {
	var b strings.Builder
	b.WriteString("INSERT INTO " + into + " (mandt, " + t.names() + ") VALUES ")
	n := 0
	for r := range rows {
		if r > 0 {
			b.WriteByte(',')
		}
		before := byte('(')
		for range len(t.columns) + 1 {
			n++
			b.WriteByte(before)
			b.WriteString(mark(n))
			before = ','
		}
		b.WriteByte(')')
	}
	return b.String()
}

// question is a parameter of MariaDB.
func question(int) string { return "?" }
