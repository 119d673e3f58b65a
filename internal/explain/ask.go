package explain

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/screen"
)

// Query is a question to a database. Its name is what recorded answers and errors call it
// by. What reads a vendor's views sees rows of text and nothing of a driver.
type Query struct {
	Name, SQL string
	Most      int // rows that its answer may have; 0: a few, that is fewRows
}

// Sessions is how many rows an answer may have with one for each session, and fewRows that of others. What answers at a
// socket need be no database, so that no answer is read to whatever end it has.
const (
	Sessions = 100_000
	fewRows  = 10_000
	perRow   = 160 // bytes that a row takes on its way, in the mean, at most
)

func (q Query) most() int { return cmp.Or(q.Most, fewRows) }

// Bytes is how long its answer may be.
func (q Query) Bytes() int64 { return 1<<20 + int64(q.most())*perRow }

// Full reports the error of an answer that has so many rows already and one more.
func (q Query) Full(rows int) error {
	if rows < q.most() {
		return nil
	}
	return fmt.Errorf("the server answers the question %q with more than %d rows, so hostlab read no further", q.Name,
		q.most())
}

// Asker answers queries, one at a time.
type Asker interface {
	Ask(ctx context.Context, q Query) ([]Row, error)
	Close() error
}

// Row is a row's columns as text; what is not valid is NULL.
type Row []sql.NullString

// Text is column i; "" where it is NULL or not there.
func (r Row) Text(i int) string {
	if i >= len(r) {
		return ""
	}
	return r[i].String
}

// Null reports whether column i is NULL, or not there.
func (r Row) Null(i int) bool { return i >= len(r) || !r[i].Valid }

// Float is column i as a number; 0 where it is none.
func (r Row) Float(i int) float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(r.Text(i)), 64)
	if err != nil {
		return 0
	}
	return v
}

// Int is column i as a whole number; 0 where it is none.
func (r Row) Int(i int) int64 {
	if v, err := strconv.ParseInt(strings.TrimSpace(r.Text(i)), 10, 64); err == nil {
		return v
	}
	return int64(r.Float(i))
}

// Bool is column i as PostgreSQL and others write it.
func (r Row) Bool(i int) bool {
	switch strings.ToLower(r.Text(i)) {
	case "t", "true", "1", "on", "y", "yes":
		return true
	}
	return false
}

// One asks for a single row; an empty one where there is none.
func One(ctx context.Context, a Asker, q Query) (Row, error) {
	rows, err := a.Ask(ctx, q)
	if err != nil || len(rows) == 0 {
		return Row{}, err
	}
	return rows[0], nil
}

// DB is an Asker on one connection of database/sql, so that session settings hold.
type DB struct {
	DB   *sql.DB
	Conn *sql.Conn
	Last []string // statements with which the session ends
}

func (d DB) Ask(ctx context.Context, q Query) ([]Row, error) {
	rows, err := d.Conn.QueryContext(ctx, q.SQL)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []Row
	for rows.Next() {
		row, into := make(Row, len(cols)), make([]any, len(cols))
		for i := range row {
			into[i] = &row[i]
		}
		if err := errors.Join(q.Full(len(out)), rows.Scan(into...)); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

func (d DB) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, s := range d.Last {
		if _, err := d.Conn.ExecContext(ctx, s); err != nil { // it is broken
			break
		}
	}
	_ = d.Conn.Close() // the pool's error is the same
	return d.DB.Close()
}

// Asked is what sources have in common: who is asked, what is known of the server, and its
// events in our words, by their names in small letters.
type Asked struct {
	Asker
	Info     Server
	Meanings map[string]string
}

// Server implements Source. What the server said of itself is cut where nobody would read on.
func (a *Asked) Server() Server {
	s := a.Info
	s.Version, s.Missing = screen.Cut(s.Version, longest), slices.Clone(s.Missing)
	for i, text := range s.Missing {
		s.Missing[i] = screen.Cut(text, 5*longest)
	}
	return s
}

// Peer is the server's process on this host, as the kernel knows it by the connection; 0: it does not.
func (a *Asked) Peer() int {
	if p, ok := a.Asker.(interface{ Peer() int }); ok {
		return p.Peer()
	}
	return 0
}

// Opened is how long hostlab's own login took, s; 0: not known.
func (a *Asked) Opened() float64 {
	if p, ok := a.Asker.(interface{ Opened() time.Duration }); ok {
		return p.Opened().Seconds()
	}
	return 0
}

// Meaning implements Source. An event may have a detail in brackets after its name.
func (a *Asked) Meaning(event string) string {
	event = strings.ToLower(event)
	if m := a.Meanings[event]; m != "" {
		return m
	}
	name, _, _ := strings.Cut(event, " (")
	return a.Meanings[name]
}

// Miss adds to what could not be seen.
func (a *Asked) Miss(format string, args ...any) {
	a.Info.Missing = append(a.Info.Missing, fmt.Sprintf(format, args...))
}
