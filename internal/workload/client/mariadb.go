package client

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"

	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/explain/mariadb"
	"hostlab/internal/privatedb"
)

// onMariaDB is MariaDB's dialect. It looks for a client that has gone only when it wants to
// answer. What a look shows is for events alone: InnoDB and the kernel count the parts of
// the time, as far as the server tells of them. The table of the same name in
// information_schema makes a temporary table for each question, which took the server
// 0.9 ms of CPU time where SHOW takes a fraction (MariaDB 10.11).
var onMariaDB = dialect{
	vendor: privatedb.MariaDB,
	settings: map[string]string{"innodb_buffer_pool_size": "256M", "innodb_stats_auto_recalc": "OFF",
		"innodb_max_dirty_pages_pct": "90", "innodb_adaptive_flushing": "OFF"},
	logBytes: logBytes,
	schemas: schemas{
		own:  "mysql performance_schema sys",
		word: "database",
		names: "SELECT schema_name FROM information_schema.schemata WHERE schema_name = ? OR schema_name REGEXP " +
			"'^hostlab_[a-z0-9]{10}$' ORDER BY 1",
		objects: []string{"SELECT table_name FROM information_schema.tables WHERE table_schema = ?",
			"SELECT routine_name FROM information_schema.routines WHERE routine_schema = ?"},
		create: "CREATE DATABASE %s CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
		drop:   "DROP DATABASE %s", // only of one that is empty
	},
	mark:      question,
	sessionID: "SELECT CONNECTION_ID()",
	thread:    "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = ?",
	comms:     mariadb.Comms,
	end:       "KILL ",
	use: func(d *connect.DSN) (driver.Connector, error) {
		cfg, err := d.MariaDBConfig()
		if err != nil {
			return nil, err
		}
		cfg.InterpolateParams, cfg.Collation, cfg.Timeout = true, "utf8mb4_bin", 10*time.Second
		return mysql.NewConnector(cfg)
	},
	load:  loadMariaDB,
	count: countMariaDB,
	look: func(own string) (explain.Query, func([]explain.Row) seen) {
		const id, command, state = 0, 4, 6 // Id, User, Host, db, Command, Time, State, ...
		return explain.Query{Name: own, SQL: "SHOW PROCESSLIST"}, func(rows []explain.Row) (s seen) {
			s.part, s.event, _ = mariadb.Classify("Sleep", "")
			for _, r := range rows {
				if r.Text(id) == own {
					s.part, s.event, _ = mariadb.Classify(r.Text(command), r.Text(state))
				}
			}
			return s
		}
	},
}

// logBytes is how large a redo log has to be for a run to fit in, so that none of it
// waits for a checkpoint. It follows from the parameters alone: all levels have the same.
func logBytes(rows int) int64 {
	const mb = 1 << 20
	need := int64(rows) * 3000 // with undo and pages' own records
	return min(max(64*mb, (need+mb-1)/mb*mb), 16<<30)
}

// loadMariaDB inserts rows. What is loaded needs not be durable, only written when the run
// starts.
func loadMariaDB(ctx context.Context, e *served, l *tables, clients []string) error {
	if e.server != nil {
		if err := e.execAll(ctx, "SET GLOBAL innodb_flush_log_at_trx_commit = 0"); err != nil {
			return err
		}
	}
	if err := e.execAll(ctx, "SET SESSION unique_checks = 0, foreign_key_checks = 0"); err != nil {
		return err
	}
	for i, name := range l.in(e.into) {
		if err := e.execAll(ctx, "TRUNCATE TABLE "+name, "BEGIN"); err != nil {
			return err
		}
		for _, client := range clients {
			if err := generate(&l.list[i], i, l.seed, func(p *pkg) error { return e.put(ctx, i, client, p) }); err != nil {
				return err
			}
		}
		if err := e.commit(ctx); err != nil {
			return err
		}
	}
	if err := e.execAll(ctx, "SET SESSION unique_checks = 1, foreign_key_checks = 1",
		"ANALYZE TABLE "+e.named(l)); err != nil {
		return err
	}
	if e.server == nil {
		return nil
	}
	return e.checkpoint(ctx)
}

// checkpoint has all pages written, as far as that takes no more than some seconds.
func (e *served) checkpoint(ctx context.Context) error {
	if err := e.execAll(ctx, "SET GLOBAL innodb_flush_log_at_trx_commit = 1",
		"SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0",
		"SET GLOBAL innodb_max_dirty_pages_pct = 0"); err != nil {
		return err
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		dirty, err := e.status(ctx, "Innodb_buffer_pool_pages_dirty")
		if err != nil {
			return err
		}
		if dirty < 20 {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return e.execAll(ctx, "SET GLOBAL innodb_max_dirty_pages_pct = 90")
}

func (e *served) status(ctx context.Context, name string) (v float64, err error) {
	err = e.conn.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&name, &v)
	return v, err
}

// countMariaDB: MariaDB counts writes of its log, and does not time them.
func countMariaDB(ctx context.Context, e *served, _ looks, c *counters) error {
	for name, to := range map[string]*counter{"Innodb_log_writes": &c.logWrites, "Innodb_os_log_written": &c.logBytes,
		"Innodb_row_lock_time": &c.locks} {
		v, err := e.status(ctx, name)
		if err != nil {
			return err
		}
		*to = known(v)
	}
	c.locks.value /= 1000 // ms
	switch full, err := e.status(ctx, "Innodb_log_waits"); {
	case errors.Is(err, sql.ErrNoRows):
		c.logFull.why = "this version does not count it"
	case err != nil:
		return err
	default:
		c.logFull = known(full)
	}
	c.others.why, c.logSyncs.why = "MariaDB does not tell", "MariaDB does not tell"
	c.logElse.why, c.logIO.why, c.dataReads.why = "MariaDB does not time it", "MariaDB does not time its redo log",
		"MariaDB does not time it"
	return nil
}
