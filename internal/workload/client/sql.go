package client

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
)

// errEnd makes database/sql drop a connection.
var errEnd = driver.ErrBadConn

// sqlSession is what all engines have in common: a session of database/sql.
type sqlSession struct {
	db       *sql.DB
	conn     *sql.Conn // nil: none
	made     *tables
	into     string           // schema of the tables; empty: that of the connection
	mark     func(int) string // the nth parameter of a statement
	most     int              // rows that an insert takes
	prepares bool             // statements are prepared once; the drivers of others do so, or need not

	sql      []statements
	inserts  map[[2]int]string // by table and rows
	prepared map[string]*sql.Stmt
	args     []any
	found    []sql.RawBytes
	scan     []any
}

// connected has a session of our own.
func (e *sqlSession) connected(ctx context.Context) (err error) {
	if e.conn == nil {
		e.conn, err = e.db.Conn(ctx)
		e.prepared = map[string]*sql.Stmt{}
	}
	return err
}

// disconnect ends the session rather than handing it back to the pool: what was open
// on it is gone.
func (e *sqlSession) disconnect() {
	if e.conn == nil {
		return
	}
	for _, s := range e.prepared {
		s.Close()
	}
	_ = e.conn.Raw(func(any) error { return errEnd })
	_ = e.conn.Close()
	e.conn = nil
}

// statement returns a text as it is prepared; nil where it need not be.
func (e *sqlSession) statement(ctx context.Context, text string) (_ *sql.Stmt, err error) {
	s := e.prepared[text]
	if s == nil && e.prepares {
		if s, err = e.conn.PrepareContext(ctx, text); err == nil {
			e.prepared[text] = s
		}
	}
	return s, err
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
	e.sql, e.inserts = nil, map[[2]int]string{}
	for i := range l.list {
		e.sql = append(e.sql, l.list[i].statements(e.into, l.size, e.mark))
	}
}

// query takes the rows of a query, all of them, or each by itself.
func (e *sqlSession) query(ctx context.Context, columns int, text string, each func(), into *pkg, args ...any) error {
	s, err := e.statement(ctx, text)
	if err != nil {
		return err
	}
	var rows *sql.Rows
	if s != nil {
		rows, err = s.QueryContext(ctx, args...)
	} else {
		rows, err = e.conn.QueryContext(ctx, text, args...)
	}
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

// column returns the first column of a query's rows.
func (e *sqlSession) column(ctx context.Context, text string, args ...any) (out []string, err error) {
	var p pkg
	err = e.query(ctx, 1, text, func() { out = append(out, string(p.value(0))) }, &p, args...)
	return out, err
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
	return e.query(ctx, len(tab.columns), "SELECT "+tab.names()+" FROM "+qualified(e.into, tab.name)+" WHERE mandt = "+e.mark(1), func() { into(&p) }, &p, client)
}

func (e *sqlSession) insert(ctx context.Context, t int, p *pkg) error {
	return e.put(ctx, t, target, p)
}

// mostParams is how many parameters a statement has at most: of SQLite, which takes the
// fewest (https://www.sqlite.org/limits.html).
const mostParams = 32766

// put inserts a client's rows.
func (e *sqlSession) put(ctx context.Context, t int, client string, p *pkg) error {
	per := min(e.most, mostParams/(p.columns+1))
	values := string(p.text) // one copy for all
	for from := 0; from < p.rows(); from += per {
		rows := min(per, p.rows()-from)
		e.args = e.args[:0]
		for r := from; r < from+rows; r++ {
			e.args = append(e.args, client)
			for n := r * p.columns; n < (r+1)*p.columns; n++ {
				begin, end := p.bounds(n)
				e.args = append(e.args, values[begin:end])
			}
		}
		// The last package of a table is shorter, and comes once a run.
		text := e.inserts[[2]int{t, rows}]
		if text == "" {
			text = insertText(qualified(e.into, e.made.list[t].name), &e.made.list[t], rows, e.mark)
			e.inserts[[2]int{t, rows}] = text
		}
		s, err := e.statement(ctx, text)
		if err != nil {
			return err
		}
		if s != nil {
			_, err = s.ExecContext(ctx, e.args...)
		} else {
			_, err = e.conn.ExecContext(ctx, text, e.args...)
		}
		if err != nil {
			return err
		}
	}
	return nil
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

// question is a parameter of MariaDB and SQLite.
func question(int) string { return "?" }
