package connect

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hostlab/internal/explain"
	"hostlab/internal/explain/postgres"
)

// promised is what a session keeps to, as pg_settings shows it: it reads only, and does not work, wait or stay for
// long.
var promised = map[string]string{
	"default_transaction_read_only": "on", "statement_timeout": strconv.FormatInt(statement.Milliseconds(), 10),
	"lock_timeout": "1000", "idle_in_transaction_session_timeout": "60000",
}

// cheap are settings for a light question asked often: none of these could pay.
var cheap = map[string]string{"application_name": application, "jit": "off", "max_parallel_workers_per_gather": "0"}

// within is the same for a transaction, where a pooler has the settings of a session.
const within = "begin read only; set local statement_timeout = %d; set local lock_timeout = 1000; " +
	"set local idle_in_transaction_session_timeout = 60000"

var (
	kept = explain.Query{Name: "kept", SQL: `select pg_backend_pid(), name, setting from pg_settings where name in ('default_transaction_read_only',
 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')`}
	keptWithin = explain.Query{Name: "kept",
		SQL: `select current_setting('transaction_read_only') = 'on' and current_setting('lock_timeout') = '1s'`}
)

// openPostgres opens a session whose every question reads only and has its limits.
func openPostgres(ctx context.Context, d *DSN) (explain.Asker, error) {
	conn, direct, err := d.pgSession(ctx, "")
	if err != nil {
		return nil, err
	}
	a := &postgres.Asker{Conn: conn, Direct: direct}
	if direct {
		return a, nil
	}
	a.Within = fmt.Sprintf(within, statement.Milliseconds())
	r, err := explain.One(ctx, a, keptWithin)
	if err == nil && !r.Bool(0) {
		err = errNotKept
	}
	if err != nil {
		_ = a.Close() // what went wrong before counts
		return nil, err
	}
	return a, nil
}

// pgSession begins a session, and leaves one parameter of it at what the server has. direct: what the session was asked
// to keep to is so by its own word, and the process that serves it is the one that the server named at the login. Else
// a pooler is between, which may give each transaction to another process, and drop what a session asks for
// (pgbouncer.ini, ignore_startup_parameters).
func (d *DSN) pgSession(ctx context.Context, but string) (conn *pgx.Conn, direct bool, err error) {
	c := d.Postgres.Copy()
	maps.Copy(c.RuntimeParams, promised)
	maps.Copy(c.RuntimeParams, cheap)
	maps.DeleteFunc(c.RuntimeParams, func(k, _ string) bool { return strings.EqualFold(k, but) })
	c.DialFunc, c.MaxProtocolMessageBodyLen = d.network, greeting
	if d.dial != nil {
		c.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	}
	d.pgSecret(&c.Config)
	conn, err = pgx.ConnectConfig(ctx, c)
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "unrecognized configuration parameter"): // jit came with 11
		delete(c.RuntimeParams, "jit")
		conn, err = pgx.ConnectConfig(ctx, c)
	case strings.Contains(err.Error(), "unsupported startup parameter"): // a pooler
		c.RuntimeParams = map[string]string{"application_name": application}
		conn, err = pgx.ConnectConfig(ctx, c)
	}
	if err != nil {
		return nil, false, err
	}
	rows, err := (&postgres.Asker{Conn: conn}).Ask(ctx, kept)
	if err != nil {
		_ = conn.Close(ctx) // what went wrong before counts
		return nil, false, err
	}
	direct = len(rows) == len(promised)
	for _, r := range rows {
		name := r.Text(1)
		direct = direct && r.Int(0) == int64(conn.PgConn().PID()) &&
			(r.Text(2) == promised[name] || strings.EqualFold(name, but))
	}
	return conn, direct, nil
}

// pgSecret settles what a server that was found may see: nothing, as with peer, or the password where it is trusted.
func (d *DSN) pgSecret(c *pgconn.Config) {
	if d.found == nil {
		return
	}
	c.AfterNetConnect, c.RequireAuth = nil, "none"
	if d.trusted {
		c.Password, c.RequireAuth = d.found.password, ""
	}
}

// pgClear keeps the password from what asks for it in clear (AuthenticationCleartextPassword), unless it goes through
// TLS or to the socket of a server that root has installed. libpq's own word for this is require_auth, which pgx reads
// when the connection is there.
func pgClear(opportunistic bool) func(context.Context, *pgconn.Config, net.Conn) (net.Conn, error) {
	return func(_ context.Context, c *pgconn.Config, conn net.Conn) (net.Conn, error) {
		secured, isTLS := conn.(interface{ NetConn() net.Conn })
		plain := conn
		if isTLS {
			plain = secured.NetConn()
		}
		if l, ok := plain.(*boundedConn); ok {
			plain = l.Conn
		}
		c.RequireAuth = "!password"
		// pgx does not tell which file it dialed: the peer's account and its program decide, as for an abstract socket.
		if isTLS && !opportunistic || Postgres.doubt(plain, "", 0) == nil {
			c.RequireAuth = ""
		}
		return conn, nil
	}
}
