package connect

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"hostlab/internal/explain"
	"hostlab/internal/trust"
)

// mariaKept are the names of what a session keeps to: MariaDB counts seconds, MySQL milliseconds, and each knows its
// own only.
var mariaKept = explain.Query{Name: "kept", SQL: `show session variables where variable_name in ('transaction_read_only', 'tx_read_only', 'lock_wait_timeout',
 'max_statement_time', 'max_execution_time')`}

// mariaLast puts back what a proxy may keep in a connection that others use next.
var mariaLast = []string{"set session transaction read write", "set session lock_wait_timeout = default"}

func openMariaDB(ctx context.Context, d *DSN) (explain.Asker, error) {
	c, err := d.MariaDBConfig()
	if refused, ok := errors.AsType[*trust.Refused](err); ok {
		return nil, refused
	}
	if err != nil {
		return nil, fmt.Errorf("the DSN %w", err)
	}
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
	limit := "max_statement_time"
	if _, err = a.Conn.ExecContext(ctx, "set session max_statement_time = "+fmt.Sprint(statement.Seconds())); err != nil {
		limit = "max_execution_time"
		_, err = a.Conn.ExecContext(ctx, "set session max_execution_time = "+fmt.Sprint(statement.Milliseconds()))
	}
	a.Last = append(mariaLast[:len(mariaLast):len(mariaLast)], "set session "+limit+" = default")
	if err == nil {
		err = mariaKeeps(ctx, a)
	}
	if err != nil {
		_ = a.Close() // what went wrong before counts
		return nil, err
	}
	return a, nil
}

// mariaKeeps asks whether the session keeps to that.
func mariaKeeps(ctx context.Context, a explain.Asker) error {
	rows, err := a.Ask(ctx, mariaKept)
	if err != nil {
		return err
	}
	reads, waits, works := false, false, false
	for _, r := range rows {
		switch r.Text(0) {
		case "lock_wait_timeout":
			waits = r.Int(1) == 1
		case "max_statement_time":
			works = works || r.Float(1) == statement.Seconds()
		case "max_execution_time":
			works = works || r.Int(1) == statement.Milliseconds()
		default:
			reads = reads || r.Bool(1)
		}
	}
	if !reads || !waits || !works {
		return errNotKept
	}
	return nil
}

type silent struct{}

func (silent) Print(...any) {}
