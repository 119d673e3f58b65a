package oltp

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"hostlab/internal/privatedb"
	"hostlab/internal/thread"
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

// open opens a database. Commits wait for the log where durable.
func (c *cluster) open(name string, durable bool) (*sql.DB, error) {
	cfg, err := c.ConnConfig()
	if err != nil {
		return nil, err
	}
	cfg.Database = name
	cfg.RuntimeParams["synchronous_commit"] = map[bool]string{true: "on", false: "off"}[durable]
	return stdlib.OpenDB(*cfg), nil
}

// execute executes statements on a database one by one: those about databases take no
// transaction around them.
func (c *cluster) execute(ctx context.Context, name string, statements ...string) error {
	db, err := c.open(name, false)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, text := range statements {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// admin executes statements on the database that is always there.
func (c *cluster) admin(ctx context.Context, statements ...string) error {
	return c.execute(ctx, privatedb.Postgres, statements...)
}

// end are the statements that drop a database, with what a worker that was ended has
// left in it (DROP DATABASE ... WITH (FORCE) takes PostgreSQL 13).
func end(name string) []string {
	return []string{fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'", name),
		"DROP DATABASE IF EXISTS " + name}
}

// fill makes the database that runs start from.
func (c *cluster) fill(ctx context.Context, rows int64) error {
	if err := c.admin(ctx, slices.Concat(end(copied), end(base), end(filling),
		[]string{"CREATE DATABASE " + filling})...); err != nil {
		return err
	}
	if err := c.execute(ctx, filling, strings.Split(strings.ReplaceAll(strings.Join(schema, ";"), "INTEGER", "bigint"),
		";")...); err != nil {
		return err
	}
	cfg, err := c.ConnConfig()
	if err != nil {
		return err
	}
	cfg.Database = filling
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // the rows are there, or not
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
	want := "on"
	if word == "off" {
		want = "off"
	}
	if err := c.admin(ctx, "ALTER SYSTEM SET fsync = "+want, "SELECT pg_reload_conf()"); err != nil {
		return err
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) { // the postmaster gets a signal
		db, err := c.open(privatedb.Postgres, false)
		if err != nil {
			return err
		}
		var is string
		err = db.QueryRowContext(ctx, "SHOW fsync").Scan(&is)
		db.Close()
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

// keep keeps the server's process of a client to some CPUs, nil: all.
func (c *client) keep(ctx context.Context, cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var pid int
	if err := c.conn.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return err
	}
	if err := thread.Keep(pid, cpus); err != nil {
		return fmt.Errorf("the server's process %d cannot be kept to CPUs %v: %w", pid, cpus, err)
	}
	return nil
}
