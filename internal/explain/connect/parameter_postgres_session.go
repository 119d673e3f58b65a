package connect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hostlab/internal/explain"
	"hostlab/internal/explain/postgres"
)

// reload returns when the server and this session have read their files. The server may be signalling
// others still.
func (p *pgParameter) reload(ctx context.Context) error {
	before, err := p.ask(ctx, "select pg_conf_load_time()::text")
	if err != nil {
		return err
	}
	if _, err := p.ask(ctx, "select pg_reload_conf()"); err != nil {
		return err
	}
	ok, err := soon(ctx, reloads, func() (bool, error) {
		now, err := p.ask(ctx, "select pg_conf_load_time()::text")
		return err == nil && now[0][0] != before[0][0], err
	})
	if err == nil && !ok {
		err = fmt.Errorf("the server did not read its files within %s; its log says why", reloads)
	}
	return err
}

func (p *pgParameter) ask(ctx context.Context, text string, args ...string) ([][]string, error) {
	return p.do(ctx, func(ctx context.Context, c *pgx.Conn) (out [][]string, err error) {
		values := make([][]byte, len(args))
		for i := range args {
			values[i] = []byte(args[i])
		}
		r := c.PgConn().ExecParams(ctx, text, values, nil, nil, nil).Read()
		for _, cols := range r.Rows {
			row := make([]string, len(cols))
			for i := range cols {
				row[i] = string(cols[i])
			}
			out = append(out, row)
		}
		return out, r.Err
	})
}

// anew asks in a session that begins now. Where the server takes none, as after a password has expired or with all
// connections in use, the one that there was stays, since it can still put back what was.
func (p *pgParameter) anew(ctx context.Context, text string) ([][]string, error) {
	old, of := p.conn, p.session
	p.conn = nil
	rows, err := p.ask(ctx, text)
	if err != nil {
		err = errors.Join(err, p.Close())
		p.conn, p.session = old, of
		return nil, err
	}
	if old != nil {
		_ = (&postgres.Asker{Conn: old}).Close() // nothing is asked of it any more
	}
	return rows, nil
}

// do works on the session, which it opens, and a second time where the session had ended.
func (p *pgParameter) do(ctx context.Context, work func(context.Context, *pgx.Conn) ([][]string,
	error)) (out [][]string,
	err error) {
	fresh := p.conn == nil
	if fresh {
		if err := p.open(ctx); err != nil {
			return nil, err
		}
	}
	p.session.answer.next(replies, patience)
	out, err = work(ctx, p.conn)
	if err == nil {
		return out, nil
	}
	d := p.session
	said, answered := errors.AsType[*pgconn.PgError](err)
	if answered && !strings.HasPrefix(said.Code, "57P") {
		return nil, d.Problem(err)
	}
	_ = p.Close() // it is broken
	if fresh || ctx.Err() != nil {
		return nil, d.Problem(err)
	}
	return p.do(ctx, work)
}

// open begins a session with the server itself: behind a pooler it would be seen neither which process has read the
// files, nor what is in force for others.
func (p *pgParameter) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := p.dsn.start(ctx, func(d *DSN, ctx context.Context) (explain.Asker, error) {
		conn, direct, err := d.pgSession(ctx, p.asked)
		if err != nil {
			return nil, err
		}
		if !direct {
			_ = conn.Close(ctx) // nothing was asked of it
			return nil, errNotKept
		}
		p.conn, p.session = conn, d
		return &postgres.Asker{Conn: conn}, nil
	})
	return err
}

// Close ends the session. Another call opens one again.
func (p *pgParameter) Close() error {
	if p.conn == nil {
		return nil
	}
	c := p.conn
	p.conn = nil
	return (&postgres.Asker{Conn: c}).Close()
}
