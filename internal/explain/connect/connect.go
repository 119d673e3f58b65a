package connect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"hostlab/internal/dsn"
	"hostlab/internal/explain"
	"hostlab/internal/explain/ask"
	"hostlab/internal/explain/hana"
	"hostlab/internal/explain/mariadb"
	"hostlab/internal/explain/oracle"
	"hostlab/internal/explain/postgres"
	"hostlab/internal/explain/sqlserver"
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
	src, err := open(ctx, d)
	if err != nil {
		return nil, d.problem(err)
	}
	return &guarded{src, d}, nil
}

func open(ctx context.Context, d *DSN) (explain.Source, error) {
	var (
		a   ask.Asker
		src explain.Source
		err error
	)
	switch d.Vendor {
	case Postgres:
		if a, err = d.openPostgres(ctx); err != nil {
			return nil, err
		}
		src, err = source(postgres.New(ctx, a, postgres.Options{Target: d.Target(), Local: local(d.pg.Host)}))
	case MariaDB:
		if a, err = d.openMariaDB(ctx); err != nil {
			return nil, err
		}
		src, err = source(mariadb.New(ctx, a, mariadb.Options{Target: d.Target(), Local: d.url.Query().Get("socket") != "" || local(d.url.Hostname())}))
	default:
		if a, err = d.openOther(ctx); err != nil {
			return nil, err
		}
		switch d.Vendor {
		case SQLServer:
			src, err = source(sqlserver.New(ctx, a, d.Target()))
		case Oracle:
			src, err = source(oracle.New(ctx, a, d.Target()))
		default:
			src, err = source(hana.New(ctx, a, d.Target()))
		}
	}
	if err != nil {
		_ = a.Close() // what went wrong before counts
		return nil, err
	}
	return src, nil
}

// source keeps a nil pointer from becoming an interface that is not nil.
func source[S explain.Source](s S, err error) (explain.Source, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (d *DSN) openPostgres(ctx context.Context) (ask.Asker, error) {
	c := d.pg.Copy()
	for k, v := range map[string]string{
		"application_name": application, "default_transaction_read_only": "on", "statement_timeout": fmt.Sprint(statement.Milliseconds()),
		"lock_timeout": "1000", "idle_in_transaction_session_timeout": "60000",
		// Ours is a light question asked often: none of these could pay.
		"jit": "off", "max_parallel_workers_per_gather": "0",
	} {
		c.RuntimeParams[k] = v
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
	return &ask.Postgres{Conn: conn}, nil
}

func (d *DSN) openMariaDB(ctx context.Context) (ask.Asker, error) {
	c, err := dsn.MariaDBConfig(d.url)
	if err != nil {
		return nil, fmt.Errorf("the DSN %w", err)
	}
	if c.Passwd == "" {
		if c.Passwd, err = d.elsewhere(); err != nil {
			return nil, err
		}
	}
	c.DialFunc = d.dial
	c.Timeout, c.ReadTimeout, c.WriteTimeout = patience, 2*statement, patience
	c.ConnectionAttributes = "program_name:" + application
	c.Logger = silent{}
	conn, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	a, err := session(ctx, sql.OpenDB(conn))
	if err != nil {
		return nil, err
	}
	for _, s := range []string{"set session transaction read only", "set session lock_wait_timeout = 1"} {
		if _, err := a.Conn.ExecContext(ctx, s); err != nil {
			_ = a.Close()
			return nil, err
		}
	}
	// MariaDB counts in seconds, MySQL in milliseconds; each knows its own only.
	if _, err := a.Conn.ExecContext(ctx, "set session max_statement_time = "+fmt.Sprint(statement.Seconds())); err != nil {
		if _, err := a.Conn.ExecContext(ctx, "set session max_execution_time = "+fmt.Sprint(statement.Milliseconds())); err != nil {
			_ = a.Close()
			return nil, err
		}
	}
	return a, nil
}

type silent struct{}

func (silent) Print(...any) {}

// session takes one connection, which all questions go through.
func session(ctx context.Context, db *sql.DB) (ask.DB, error) {
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		_ = db.Close()
		return ask.DB{}, err
	}
	return ask.DB{DB: db, Conn: conn}, nil
}

// guarded keeps passwords out of the errors of a source and makes them one line.
type guarded struct {
	explain.Source
	dsn *DSN
}

func (g *guarded) Sample(ctx context.Context) ([]explain.Snapshot, error) {
	s, err := g.Source.Sample(ctx)
	return s, g.dsn.problem(err)
}

// OwnCPU implements explain.Costed.
func (g *guarded) OwnCPU() (float64, bool) {
	if c, ok := g.Source.(explain.Costed); ok {
		return c.OwnCPU()
	}
	return 0, false
}

func (g *guarded) Count(ctx context.Context) (explain.Counters, error) {
	c, err := g.Source.Count(ctx)
	return c, g.dsn.problem(err)
}

// IsUsage reports whether an error is a mistake in what was typed: a DSN that names
// nothing that answers, a wrong password.
func IsUsage(err error) bool {
	_, ok := errors.AsType[*Problem](err)
	return ok
}
