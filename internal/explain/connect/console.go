package connect

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"hostlab/internal/explain"
)

// Console opens the console of a pgbouncer, a process of this host. It knows its own account by the socket, as the user
// "pgbouncer" (pgbouncer(5), admin_users), and gets no password. An answer begins with a row of its columns' names.
func Console(ctx context.Context, pid int) (explain.Asker, error) {
	d, err := Here("postgresql", pid)
	if err != nil {
		return nil, err
	}
	const name = "pgbouncer"
	d.Postgres.User, d.Postgres.Database, d.found.password = name, name, ""
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return d.start(ctx, openConsole)
}

func openConsole(d *DSN, ctx context.Context) (explain.Asker, error) {
	c := d.Postgres.Config.Copy()
	c.RuntimeParams = map[string]string{"application_name": application}
	c.DialFunc, c.MaxProtocolMessageBodyLen = d.network, greeting
	c.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	d.pgSecret(c)
	conn, err := pgconn.ConnectConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	return console{conn}, nil
}

// console speaks the simple protocol alone, as a pooler's does.
type console struct{ conn *pgconn.PgConn }

func (c console) Ask(ctx context.Context, q explain.Query) (rows []explain.Row, err error) {
	all := c.conn.Exec(ctx, q.SQL)
	for err == nil && all.NextResult() {
		r := all.ResultReader()
		var names explain.Row
		for _, f := range r.FieldDescriptions() {
			names = append(names, sql.NullString{String: f.Name, Valid: true})
		}
		rows = []explain.Row{names}
		for r.NextRow() && err == nil {
			row := make(explain.Row, len(r.Values()))
			for i, v := range r.Values() {
				row[i] = sql.NullString{String: string(v), Valid: v != nil}
			}
			rows, err = append(rows, row), q.Full(len(rows))
		}
	}
	if closed := all.Close(); err == nil {
		err = closed
	}
	return rows, err
}

func (c console) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // one that hangs must not keep us
	defer cancel()
	return c.conn.Close(ctx)
}
