package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hostlab/internal/explain"
)

// Asker is an explain.Asker on a connection of pgx. Rows come as text.
type Asker struct {
	Conn *pgx.Conn
	// Direct is set where nothing is between us and the process that serves us. Queries are then prepared the first
	// time, as to parse and plan one anew takes twice as long (PostgreSQL 15). Behind a pooler a statement with a name
	// would stay in a connection that others use next.
	Direct bool
	// Within is what each question's transaction begins with, where the session itself keeps to nothing; "": it does.
	Within string

	prepared map[string]bool
}

func (p *Asker) Ask(ctx context.Context, q explain.Query) (rows []explain.Row, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := p.Conn.PgConn()
	switch {
	case p.Direct:
		if !p.prepared[q.Name] {
			if _, err := p.Conn.Prepare(ctx, q.Name, q.SQL); err != nil {
				return nil, err
			}
			if p.prepared == nil {
				p.prepared = map[string]bool{}
			}
			p.prepared[q.Name] = true
		}
		return read(c.ExecPrepared(ctx, q.Name, nil, nil, nil), q, cancel)
	case p.Within == "":
		return read(c.ExecParams(ctx, q.SQL, nil, nil, nil, nil), q, cancel)
	}
	all := c.Exec(ctx, p.Within+"; "+q.SQL+"; commit")
	for err == nil && all.NextResult() {
		r := all.ResultReader()
		if r.FieldDescriptions() == nil {
			_, err = r.Close()
		} else {
			rows, err = read(r, q, cancel)
		}
	}
	if closed := all.Close(); err == nil {
		err = closed
	}
	if err != nil && !c.IsClosed() && c.TxStatus() != 'I' {
		_ = c.Exec(ctx, "rollback").Close() // what went wrong before counts
	}
	return rows, err
}

// read takes the rows of an answer, and stops reading where they are too many.
func read(r *pgconn.ResultReader, q explain.Query, stop func()) (out []explain.Row, err error) {
	for err == nil && r.NextRow() {
		if err = q.Full(len(out)); err != nil {
			stop()
			break
		}
		row := make(explain.Row, len(r.Values()))
		for i, c := range r.Values() {
			row[i].String, row[i].Valid = string(c), c != nil
		}
		out = append(out, row)
	}
	if _, closed := r.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Pooled reports that a pooler passes the session on: who serves it may be another process the next time.
func (p *Asker) Pooled() bool { return !p.Direct }

func (p *Asker) Close() error {
	// A server that hangs must not keep us; the socket is closed in any case.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return p.Conn.Close(ctx)
}
