package connect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"hostlab/internal/explain"
	"hostlab/internal/explain/postgres"
	"hostlab/internal/trust"
)

// application is how the session calls itself.
const application = "hostlab"

// patience bounds the time that connecting may take.
const patience = 10 * time.Second

// statement is the longest that the server may work on one question of ours.
const statement = 5 * time.Second

// Open connects and asks what server it is. The session can only read. Errors are one
// line without a password.
func Open(ctx context.Context, d *DSN) (explain.Source, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a, err := d.Vendor.begin(ctx, d)
	if err != nil {
		return nil, d.Problem(err)
	}
	src, err := d.Vendor.source(ctx, guarded{a, d}, d.Target(), d.Local())
	if err != nil {
		_ = a.Close() // what went wrong before counts
		return nil, d.Problem(err)
	}
	return src, nil
}

// Session opens a session for the statements of a workload, which take as long as they do. Errors are one line without
// a password.
func Session(ctx context.Context, d *DSN) (explain.Asker, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a, err := d.Vendor.begin(ctx, d)
	if err != nil {
		return nil, d.Problem(err)
	}
	return guarded{a, d}, nil
}

// guarded keeps passwords out of a server's errors, and makes them one line.
type guarded struct {
	explain.Asker
	dsn *DSN
}

func (g guarded) Ask(ctx context.Context, q explain.Query) ([]explain.Row, error) {
	rows, err := g.Asker.Ask(ctx, q)
	return rows, g.dsn.Problem(err)
}

func openPostgres(ctx context.Context, d *DSN) (explain.Asker, error) {
	return openPostgresBut(ctx, d, "")
}

// openPostgresBut leaves one parameter of the session at what the server has.
func openPostgresBut(ctx context.Context, d *DSN, but string) (explain.Asker, error) {
	c := d.Postgres.Copy()
	for k, v := range map[string]string{
		"application_name": application, "default_transaction_read_only": "on",
		"statement_timeout": fmt.Sprint(statement.Milliseconds()),
		"lock_timeout":      "1000", "idle_in_transaction_session_timeout": "60000",
		// Ours is a light question asked often: none of these could pay.
		"jit": "off", "max_parallel_workers_per_gather": "0",
	} {
		if !strings.EqualFold(k, but) {
			c.RuntimeParams[k] = v
		}
	}
	if d.dial != nil {
		c.DialFunc, c.LookupFunc = d.dial, func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	}
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil && strings.Contains(err.Error(), "unrecognized configuration parameter") { // jit came with 11
		delete(c.RuntimeParams, "jit")
		conn, err = pgx.ConnectConfig(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	return &postgres.Asker{Conn: conn}, nil
}

func openMariaDB(ctx context.Context, d *DSN) (explain.Asker, error) {
	c, err := d.MariaDBConfig()
	if refused, ok := errors.AsType[*trust.Refused](err); ok {
		return nil, refused
	}
	if err != nil {
		return nil, fmt.Errorf("the DSN %w", err)
	}
	c.DialFunc = d.dial
	c.Timeout, c.ReadTimeout, c.WriteTimeout = patience, 2*statement, patience
	c.ConnectionAttributes = "program_name:" + application
	c.Logger = silent{}
	conn, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	a, err := begin(ctx, conn, "set session transaction read only", "set session lock_wait_timeout = 1")
	if err != nil {
		return nil, err
	}
	// MariaDB counts in seconds, MySQL in milliseconds; each knows its own only.
	if _, err := a.Conn.ExecContext(ctx, "set session max_statement_time = "+fmt.Sprint(statement.Seconds())); err != nil {
		if _, err := a.Conn.ExecContext(ctx, "set session max_execution_time = "+
			fmt.Sprint(statement.Milliseconds())); err != nil {
			_ = a.Close()
			return nil, err
		}
	}
	return a, nil
}

type silent struct{}

func (silent) Print(...any) {}

// begin takes one connection, which all questions go through, and executes statements on
// it first.
func begin(ctx context.Context, c driver.Connector, first ...string) (explain.DB, error) {
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		_ = db.Close()
		return explain.DB{}, err
	}
	for _, s := range first {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			err = fmt.Errorf("%s: %w", s, err)
			return explain.DB{}, errors.Join(err, explain.DB{DB: db, Conn: conn}.Close())
		}
	}
	return explain.DB{DB: db, Conn: conn}, nil
}

// IsUsage reports whether an error is a mistake in what was typed: a DSN that names
// nothing that answers, a wrong password.
func IsUsage(err error) bool {
	_, ok := errors.AsType[*Problem](err)
	return ok
}
