//go:build system

package connect_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/privatedb"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

// minuteOf records a server while loads run, and returns its account as assess has it.
func minuteOf(t *testing.T, dsn string, texts bool, loads ...func(ctx context.Context)) *assess.Minute {
	t.Helper()
	d := testkit.Must(connect.Parse(dsn))(t)
	src := testkit.Must(connect.Open(t.Context(), d))(t)
	defer src.Close()
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, load := range loads {
		all.Go(func() { load(ctx) })
	}
	r, err := explain.Record(t.Context(), src, explain.Options{For: 8 * time.Second, Texts: texts})
	stop()
	all.Wait()
	testkit.OK(t, err)
	return &assess.Minute{Connected: true, Report: r,
		Service: service.Service{Kind: service.Database, Name: r.Vendor, PID: os.Getpid()}}
}

// finding is one that must be there, of a setting.
func finding(t *testing.T, m *assess.Minute, parameter string) (f explain.Finding) {
	t.Helper()
	for _, f := range m.Server() {
		if f.Parameter == parameter {
			t.Logf("%s: %s; %s", f.Parameter, f.Text, f.Step)
			return f
		}
	}
	t.Errorf("no finding on %s: %+v; counters %+v, missing %q, events %+v", parameter, m.Server(), m.Report.Totals,
		m.Report.Missing, m.Report.Events)
	return f
}

// TestPlantedPostgres: causes that are settings of a live PostgreSQL are found by their names.
func TestPlantedPostgres(t *testing.T) {
	begin := func(t *testing.T, settings map[string]string, first ...string) (*privatedb.Server, string) {
		t.Helper()
		settings["autovacuum"] = "off"
		s := testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL,
			privatedb.Config{Parent: t.TempDir(), Settings: settings}))(t)
		t.Cleanup(func() { _ = s.Close() })
		c := testkit.Must(s.Connect(t.Context()))(t)
		defer c.Close(context.Background())
		for _, q := range first {
			testkit.Must(c.Exec(t.Context(), q))(t)
		}
		return s, "host=" + s.SocketDir() + " user=" + privatedb.Role + " dbname=postgres"
	}
	// work repeats a statement in a session until the end.
	work := func(t *testing.T, s *privatedb.Server, statements ...string) func(context.Context) {
		return func(ctx context.Context) {
			c, err := s.Connect(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close(context.Background())
			for ctx.Err() == nil {
				for _, q := range statements {
					if _, err := c.Exec(ctx, q); err != nil && ctx.Err() == nil {
						t.Error(err)
						return
					}
				}
			}
		}
	}
	const table = "create table t as select i a, i b, repeat('x', 200) c from generate_series(1, 100000) i; create index on t(a)"
	t.Run("wal", func(t *testing.T) {
		t.Parallel()
		s, dsn := begin(t, map[string]string{"max_wal_size": "32MB", "min_wal_size": "32MB", "wal_level": "minimal",
			"max_wal_senders": "0"}, table)
		m := minuteOf(t, dsn, false, work(t, s, "update t set b = b + 1 where a % 10 = 1"))
		if f := finding(t, m, "max_wal_size"); f.Value != "32MB" || !f.Plain || f.N < 2 {
			t.Errorf("%+v", f)
		}
	})
	t.Run("delay", func(t *testing.T) {
		t.Parallel()
		s, dsn := begin(t, map[string]string{"commit_delay": "20000", "commit_siblings": "0"}, table)
		m := minuteOf(t, dsn, false, work(t, s, "update t set b = b + 1 where a = 1"))
		if f := finding(t, m, "commit_delay"); f.Explains == nil || *f.Explains < 0.2 || *f.AtMost < *f.Explains {
			t.Errorf("%+v of %+v", f, m.Report.Parts)
		}
		if got := m.Verdict(nil); !strings.HasPrefix(got, "By commit_delay") {
			t.Error(got)
		}
	})
	t.Run("sort", func(t *testing.T) {
		t.Parallel()
		s, dsn := begin(t, map[string]string{"work_mem": "64kB"}, table)
		if f := finding(t, minuteOf(t, dsn, false, work(t, s, "select c from t order by b desc, c offset 99999")),
			"work_mem"); f.N < 1 {
			t.Errorf("%+v", f)
		}
	})
	t.Run("connect", func(t *testing.T) {
		t.Parallel()
		s, dsn := begin(t, map[string]string{}, table)
		m := minuteOf(t, dsn, false, func(ctx context.Context) {
			for ctx.Err() == nil {
				c, err := s.Connect(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = c.Exec(t.Context(), "select 1")
				_ = c.Close(t.Context())
			}
		})
		if f := finding(t, m, "pool of connections"); f.Explains == nil || *f.Explains <= 0 {
			t.Errorf("%+v", f)
		}
	})
	t.Run("buffers", func(t *testing.T) {
		t.Parallel()
		s, dsn := begin(t, map[string]string{"shared_buffers": "1MB", "max_parallel_workers_per_gather": "0",
			"track_io_timing": "on"}, table, "vacuum t", "checkpoint")
		m := minuteOf(t, dsn, false, work(t, s, "select count(c) from t"))
		if f := finding(t, m, "shared_buffers"); f.Explains == nil || m.Report.Part(explain.DataReads).Seconds != 0 {
			t.Errorf("%+v, %+v", f, m.Report.Part(explain.DataReads))
		}
	})
	t.Run("pause", func(t *testing.T) {
		t.Parallel()
		s, dsn := begin(t, map[string]string{}, table, "create database beside")
		dsn = strings.Replace(dsn, "dbname=postgres", "dbname=beside", 1) // so that the table is another database's
		pid := int64(0)
		held := make(chan bool)
		hold := func(ctx context.Context) {
			c, err := s.Connect(t.Context())
			if err != nil {
				t.Error(err)
				close(held)
				return
			}
			defer c.Close(context.Background())
			_, err = c.Exec(t.Context(), "set application_name = 'nightly'; begin; update t set b = 1 where a = 7")
			if err != nil {
				t.Error(err)
			}
			pid = int64(c.PgConn().PID())
			close(held)
			<-ctx.Done()
		}
		waits := func(ctx context.Context) {
			<-held
			work(t, s, "update t set b = 2 where a = 7")(ctx)
		}
		m := minuteOf(t, dsn, true, hold, waits, waits)
		b, want := m.Report.Blockers, "idle_in_transaction_session_timeout"
		if len(b) > 0 && b[0].Share.N < 3 { // a busy machine asks too seldom to name a session
			want = "transactions that hold locks"
		}
		finding(t, m, want)
		if len(b) == 0 || b[0].PID != pid || b[0].Relation != "postgres.t" || b[0].Part != explain.Application ||
			b[0].Application != "nightly" || b[0].Share.Value < 0.9 {
			t.Errorf("held by %d: %+v", pid, b)
		}
		found := false
		for _, x := range m.Report.Statements {
			found = found || x.Part == explain.Locks && strings.Contains(x.Text, "update t set b = 2") && x.ID != ""
		}
		if !found {
			t.Errorf("%+v", m.Report.Statements)
		}
	})
}

// TestPlantedMariaDB does the same for a live MariaDB.
func TestPlantedMariaDB(t *testing.T) {
	s := testkit.Must(privatedb.Start(t.Context(), privatedb.MariaDB, privatedb.Config{Parent: t.TempDir(), LogBytes: 8 << 20}))(t)
	defer s.Close()
	db := testkit.Must(s.Open())(t)
	defer db.Close()
	for _, q := range []string{"create table t (a int primary key, b int)",
		"insert into t select seq, 0 from seq_1_to_1000"} {
		testkit.Must(db.Exec(q))(t)
	}
	dsn := "mysql://u@localhost/?socket=" + s.SocketDir() + "/mariadb.sock"
	work := func(ctx context.Context, do func(*sql.Conn) error) {
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		for ctx.Err() == nil {
			if err := do(c); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	}
	exec := func(c *sql.Conn, statements ...string) (err error) {
		for _, q := range statements {
			if err == nil {
				_, err = c.ExecContext(t.Context(), q)
			}
		}
		return err
	}
	t.Run("commits without a flush", func(t *testing.T) {
		testkit.Must(db.Exec("set global innodb_flush_log_at_trx_commit = 2"))(t)
		defer func() { _, _ = db.Exec("set global innodb_flush_log_at_trx_commit = 1") }()
		n := 0
		m := minuteOf(t, dsn, false, func(ctx context.Context) {
			work(ctx, func(c *sql.Conn) error {
				n++
				return exec(c, fmt.Sprintf("update t set b = b + 1 where a = %d", n%1000+1))
			})
		})
		if p := m.Report.Part(explain.LogWait); p.Seconds != 0 ||
			!strings.Contains(p.Source, "innodb_flush_log_at_trx_commit = 2") {
			t.Errorf("%+v", p)
		}
		for _, x := range m.Report.Statements {
			if x.Kind != explain.Fingerprint || x.ID == "" || x.Text != "" {
				t.Errorf("%+v", x)
			}
		}
	})
	t.Run("a holder that sleeps", func(t *testing.T) {
		lock := func(ctx context.Context) {
			work(ctx, func(c *sql.Conn) error {
				return exec(c, "begin", "update t set b = b + 1 where a = 1", "do sleep(0.1)", "commit")
			})
		}
		m := minuteOf(t, dsn, false, lock, lock, lock)
		share := 0.0
		for _, b := range m.Report.Blockers {
			if b.Relation != "test.t" && !strings.HasSuffix(b.Relation, ".t") {
				t.Errorf("%+v", b)
			}
			if b.Event == "User sleep" {
				share += b.Share.Value
			}
		}
		if share < 0.5 {
			t.Errorf("%+v", m.Report.Blockers)
		}
	})
	t.Run("connections", func(t *testing.T) {
		db := testkit.Must(s.Open())(t)
		defer db.Close()
		db.SetMaxIdleConns(-1)
		m := minuteOf(t, dsn, false, func(ctx context.Context) {
			for ctx.Err() == nil {
				if _, err := db.ExecContext(t.Context(), "do 1"); err != nil {
					t.Error(err)
					return
				}
			}
		})
		finding(t, m, "pool of connections")
	})
}
