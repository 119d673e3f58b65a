package oltp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"hostlab/internal/privatedb"
	"hostlab/internal/workload/database"
)

// The databases of the server: what runs start from, while it is filled and when that
// is complete, and the copy that a run works on.
const (
	filling = "filling"
	base    = "base"
	copied  = "run"
)

// seats are connections beside those of the workers.
const seats = 20

// server has a private PostgreSQL with room for the workers and rows of a question.
func (s *session) server(ctx context.Context, q question) (*cluster, error) {
	settings := database.Quiet()
	delete(settings, "fsync") // parameter sync sets it
	delete(settings, "full_page_writes")
	settings["max_connections"] = strconv.Itoa(q.Workers + seats)
	settings["shared_buffers"] = fmt.Sprintf("%dkB", 128<<10+q.Rows) // two copies of 0.4 kB a row, and what is added
	if err := s.postgres.Ready(ctx, settings, int64(q.Workers), q.Rows); err != nil {
		return nil, err
	}
	return &cluster{s.postgres.Private().Address()}, nil
}

// cluster is where the worker finds that PostgreSQL.
type cluster struct{ privatedb.Address }

// connect opens a connection to a database. Commits wait for the log where durable.
func (c *cluster) connect(ctx context.Context, name string, durable bool) (*pgx.Conn, error) {
	cfg, err := c.ConnConfig()
	if err != nil {
		return nil, err
	}
	cfg.Database = name
	cfg.RuntimeParams["synchronous_commit"] = map[bool]string{true: "on", false: "off"}[durable]
	return pgx.ConnectConfig(ctx, cfg)
}

// admin executes statements on the database that is always there, one by one: those
// about databases take no transaction around them.
func (c *cluster) admin(ctx context.Context, statements ...string) error {
	conn, err := c.connect(ctx, privatedb.Postgres, false)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // the statements have succeeded or failed
	for _, text := range statements {
		if _, err := conn.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	return nil
}

// end are the statements that drop a database, with what a worker that was ended has
// left in it (DROP DATABASE ... WITH (FORCE) takes PostgreSQL 13).
func end(name string) []string {
	return []string{fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'", name), "DROP DATABASE IF EXISTS " + name}
}

// fill makes the database that runs start from.
func (c *cluster) fill(ctx context.Context, rows int64) error {
	if err := c.admin(ctx, append(append(append(end(copied), end(base)...), end(filling)...), "CREATE DATABASE "+filling)...); err != nil {
		return err
	}
	conn, err := c.connect(ctx, filling, false)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // again
	for _, text := range schema {
		if _, err := conn.Exec(ctx, strings.ReplaceAll(text, "INTEGER", "bigint"), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	for _, t := range tables(rows) {
		if err := t.Copy(ctx, conn); err != nil {
			return err
		}
	}
	if _, err := conn.Exec(ctx, "VACUUM (ANALYZE)", pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	if err := conn.Close(ctx); err != nil {
		return err
	}
	return c.admin(ctx, "ALTER DATABASE "+filling+" RENAME TO "+base)
}

// sync makes the server write to the disk as SQLite's word says: off never, normal
// at checkpoints, full also at commits, which each connection asks for.
func (c *cluster) sync(ctx context.Context, word string) error {
	want := map[bool]string{true: "off", false: "on"}[word == "off"]
	if err := c.admin(ctx, "ALTER SYSTEM SET fsync = "+want, "SELECT pg_reload_conf()"); err != nil {
		return err
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) { // the postmaster gets a signal
		conn, err := c.connect(ctx, privatedb.Postgres, false)
		if err != nil {
			return err
		}
		var is string
		err = conn.QueryRow(ctx, "SHOW fsync", pgx.QueryExecModeSimpleProtocol).Scan(&is)
		_ = conn.Close(ctx)
		switch {
		case err != nil:
			return err
		case is == want:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("PostgreSQL still has fsync = %s after 10 s, %s was set", is, want)
		}
	}
}

// totals sums up the database of a run.
func (c *cluster) totals(ctx context.Context) (t totals, err error) {
	conn, err := c.connect(ctx, copied, false)
	if err != nil {
		return t, err
	}
	defer conn.Close(ctx) //nolint:errcheck // it was only read
	return t, conn.QueryRow(ctx, `SELECT (SELECT count(*) FROM orders), (SELECT coalesce(sum(amount), 0)::bigint FROM orders), `+
		`(SELECT sum(balance)::bigint FROM customer), (SELECT sum(stock)::bigint FROM item)`, pgx.QueryExecModeSimpleProtocol).Scan(&t.Orders, &t.Amount, &t.Balance, &t.Stock)
}

// serverClient is one worker's connection to PostgreSQL, which locks rows by itself: an
// item before a customer, so that no two transactions wait for each other.
type serverClient struct {
	conn *pgx.Conn
	rows int64
}

// newServerClient connects, and keeps the server's process for it to some CPUs, nil: all.
func newServerClient(ctx context.Context, c *cluster, q question) (*serverClient, error) {
	conn, err := c.connect(ctx, copied, q.Sync == "full")
	if err != nil {
		return nil, err
	}
	x := &serverClient{conn, q.Rows}
	if len(q.Room.Workers) > 0 {
		err = keepTo(int(conn.PgConn().PID()), q.Room.Workers)
	}
	for name, text := range serverStatements {
		if err == nil {
			_, err = conn.Prepare(ctx, name, text)
		}
	}
	if err != nil {
		return nil, errors.Join(err, x.close())
	}
	return x, nil
}

// serverStatements are those of transactions by name, with PostgreSQL's placeholders.
var serverStatements = map[string]string{"customer": numbered(readCustomer), "orders": numbered(readOrders), "price": numbered(readPrice),
	"stock": numbered(takeStock), "charge": numbered(charge), "order": numbered(addOrder)}

// numbered makes $1, $2 ... of question marks.
func numbered(text string) string {
	parts := strings.Split(text, "?")
	for i := range parts[1:] {
		parts[i] += fmt.Sprintf("$%d", i+1)
	}
	return strings.Join(parts, "")
}

func (c *serverClient) close() error { return c.conn.Close(context.Background()) }

// do makes a transaction and returns the sum of what it read.
func (c *serverClient) do(ctx context.Context, t transaction) (sum uint64, err error) {
	switch t.kind {
	case pointRead:
		var credit int64
		var name string
		if err := c.conn.QueryRow(ctx, "customer", t.at).Scan(&credit, &name); err != nil {
			return 0, fmt.Errorf("customer %d: %w", t.at, err)
		}
		return checkCustomer(credit, len(name)), nil
	case rangeRead:
		rows, err := c.conn.Query(ctx, "orders", t.at, t.last(c.rows))
		if err != nil {
			return 0, err
		}
		defer rows.Close()
		for rows.Next() {
			var o order
			if err := rows.Scan(&o.customer, &o.item, &o.quantity, &o.amount); err != nil {
				return 0, err
			}
			sum += o.check()
		}
		return sum, rows.Err()
	}
	if sum, err = c.write(ctx, t.new); err != nil {
		return 0, fmt.Errorf("order %d: %w", t.new.id, err)
	}
	return sum, nil
}

func (c *serverClient) write(ctx context.Context, o order) (uint64, error) {
	tx, err := c.conn.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback(ctx) }() // nothing after a commit
	var price int64
	if err := tx.QueryRow(ctx, "price", o.item).Scan(&price); err != nil {
		return 0, err
	}
	for _, s := range []struct {
		name string
		args []any
	}{
		{"stock", []any{o.quantity, o.item}}, {"charge", []any{o.quantity * price, o.customer}},
		{"order", []any{o.id, o.customer, o.item, o.quantity, o.quantity * price}},
	} {
		if _, err := tx.Exec(ctx, s.name, s.args...); err != nil {
			return 0, err
		}
	}
	return mix(uint64(price)), tx.Commit(ctx)
}
