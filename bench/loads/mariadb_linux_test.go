//go:build bench

package loads

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
)

// TestMariaDBLoads explains what clients of ours do, beside their own count and the kernel's.
func TestMariaDBLoads(t *testing.T) {
	s := testkit.Must(privatedb.Start(t.Context(), privatedb.MariaDB, privatedb.Config{Parent: t.TempDir(), LogBytes: 8 << 20}))(t)
	defer s.Close()
	db := testkit.Must(s.Open())(t)
	defer db.Close()
	for _, q := range []string{"create table t (a int primary key, b int)",
		"insert into t select seq, 0 from seq_1_to_100"} {
		testkit.Must(db.Exec(q))(t)
	}
	dsn := "mysql://u@localhost/?socket=" + s.SocketDir() + "/mariadb.sock"
	// load runs one job after another in each of some sessions, and returns how many.
	load := func(sessions int, lasts time.Duration, job func(c *sql.Conn, n int) error) float64 {
		var done atomic.Int64
		var all sync.WaitGroup
		end := time.Now().Add(lasts)
		for i := range sessions {
			all.Go(func() {
				c, err := db.Conn(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				for n := i; time.Now().Before(end); n += sessions {
					if err := job(c, n%100+1); err != nil {
						t.Error(err)
						return
					}
					done.Add(1)
				}
			})
		}
		all.Wait()
		return float64(done.Load())
	}
	ctx := context.Background()
	do := func(c *sql.Conn, queries ...string) error {
		for _, q := range queries {
			rows, err := c.QueryContext(ctx, q)
			if err != nil {
				return err
			}
			for rows.Next() {
			}
			if err := rows.Close(); err != nil {
				return err
			}
		}
		return nil
	}
	const read, write = "select sum(benchmark(20, md5(b))) from t", "update t set b = b + 1 where a = "
	row := func(n int) string { return string(rune('0' + n%10)) }
	for _, c := range []struct {
		name string
		job  func(c *sql.Conn, n int) error
	}{
		{"reads alone", func(c *sql.Conn, _ int) error { return do(c, read) }},
		{"writes alone", func(c *sql.Conn, n int) error { return do(c, write+row(n)) }},
		{"reads within", func(c *sql.Conn, _ int) error { return do(c, "begin", read, read, read, "commit") }},
		{"writes within", func(c *sql.Conn, n int) error { return do(c, "begin", read, read, write+row(n), read, "commit") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var count float64
			r := during(t, dsn, 5*time.Second, func() { count = load(4, 5*time.Second, c.job) })
			counted(t, r.Transactions, count)
			for _, e := range r.Events {
				if strings.HasSuffix(c.name, "alone") && e.Name == "Sleep in transaction" && e.Share.Value > 0.02 {
					t.Errorf("%v s of the application, where no transaction was open", e.Seconds)
				}
			}
		})
	}
	t.Run("some within", func(t *testing.T) {
		var count float64
		r := during(t, dsn, 3*time.Second, func() {
			count = load(4, 3*time.Second, func(c *sql.Conn, n int) error {
				if n%2 == 0 {
					return do(c, read)
				}
				return do(c, "begin", read, write+row(n), "commit")
			})
		})
		t.Logf("%v transactions, said %d, from %d to %d", count, r.Transactions, r.TransactionsLow, r.TransactionsHigh)
		if r.Transactions >= 0 || float64(r.TransactionsLow) > count || float64(r.TransactionsHigh) < count {
			t.Error("not within what is said")
		}
	})
	// Short transactions with pauses between them: hardly a statement is seen.
	think := func(c *sql.Conn, q ...string) error {
		err := do(c, q...)
		time.Sleep(time.Duration(5+rand.IntN(20)) * time.Millisecond) //nolint:gosec // a load
		return err
	}
	short := func(c *sql.Conn, n int) error {
		return think(c, "begin", "select b from t where a = "+row(n), write+row(n), "commit")
	}
	again := func(job func(*sql.Conn, int) error) func(*sql.Conn, int) error {
		return func(_ *sql.Conn, n int) error {
			c, err := db.Conn(ctx)
			if err != nil {
				return err
			}
			defer c.Close()
			return job(c, n)
		}
	}
	for name, job := range map[string]func(*sql.Conn, int) error{"kept": short, "anew": again(short)} {
		t.Run("think time, connections "+name, func(t *testing.T) {
			if name == "anew" {
				db.SetMaxIdleConns(0)
				defer db.SetMaxIdleConns(2)
			}
			counts(t, dsn, func() float64 { return load(4, 10*time.Second, job) })
		})
	}
	t.Run("half of the sessions alone", func(t *testing.T) {
		r := during(t, dsn, 10*time.Second, func() {
			load(4, 10*time.Second, func(c *sql.Conn, n int) error {
				if n%2 == 0 {
					return think(c, "select b from t where a = "+row(n))
				}
				return short(c, n)
			})
		})
		t.Logf("said %d, from %d to %d", r.Transactions, r.TransactionsLow, r.TransactionsHigh)
		if r.Transactions >= 0 {
			t.Error("taken for all within")
		}
	})
	// Without autocommit nothing is opened; where each writes, commits count.
	t.Run("without autocommit", func(t *testing.T) {
		counts(t, dsn, func() float64 {
			return load(4, 10*time.Second, func(c *sql.Conn, n int) error {
				return think(c, "set autocommit = 0", "select b from t where a = "+row(n), write+row(1+n%9), write+row(1+n%9),
					"commit", "set autocommit = 1")
			})
		})
	})
	// What cannot be told from statements beside transactions stays a range, which says why:
	// transactions of different lengths, such without autocommit that only read, short looks.
	reads := func(c *sql.Conn, n int) error {
		return do(c, slices.Repeat([]string{"select b from t where a = " + row(n)}, 1+rand.IntN(6))...)
	} //nolint:gosec // a load
	for name, c := range map[string]struct {
		lasts time.Duration
		job   func(c *sql.Conn, n int) error
	}{
		"of different lengths": {9 * time.Second, func(c *sql.Conn, n int) error {
			return errors.Join(do(c, "begin"), reads(c, n), think(c, write+row(n), "commit"))
		}},
		"that read without autocommit": {9 * time.Second, func(c *sql.Conn, n int) error {
			return errors.Join(do(c, "set autocommit = 0"), reads(c, n), think(c, "commit", "set autocommit = 1"))
		}},
		"in a short time": {2 * time.Second, short},
	} {
		t.Run("transactions "+name, func(t *testing.T) {
			var count float64
			r := during(t, dsn, c.lasts, func() { count = load(4, c.lasts, c.job) })
			t.Logf("%v transactions, said %d, from %d to %d", count, r.Transactions, r.TransactionsLow, r.TransactionsHigh)
			var text bytes.Buffer
			testkit.OK(t, document.WriteText(&text, &document.Document{Sections: (&assess.Minute{Report: r,
				Connected: true}).Sections(nil)}, document.TextOptions{}))
			said := strings.Join(strings.Fields(text.String()), " ")
			if r.Transactions >= 0 || !strings.Contains(said, fmt.Sprintf("from %d to %d: the server does not count them",
				r.TransactionsLow, r.TransactionsHigh)) ||
				!strings.Contains(said, "not all statements were seen in transactions that had been opened; to count them, an administrator can set") {
				t.Errorf("said %d: %s", r.Transactions, said)
			}
			if float64(r.TransactionsLow) > 1.02*count || float64(r.TransactionsHigh) < count {
				t.Error("not within what is said")
			}
		})
	}
	t.Run("InnoDB counts", func(t *testing.T) {
		testkit.Must(db.Exec("set global innodb_monitor_enable = 'trx_%commits'"))(t)
		defer db.Exec("set global innodb_monitor_disable = 'trx_%commits'") //nolint:errcheck // the next loads tell
		var count float64
		r := during(t, dsn, 3*time.Second, func() {
			count = load(4, 3*time.Second, func(c *sql.Conn, n int) error {
				if n%2 == 0 {
					return do(c, read)
				}
				return short(c, n)
			})
		})
		counted(t, r.Transactions, count)
	})
	t.Run("pauses", func(t *testing.T) {
		// Sessions enough for samples of them to tell a third more from chance.
		var slept atomic.Int64
		r := during(t, dsn, 10*time.Second, func() {
			load(24, 10*time.Second, func(c *sql.Conn, _ int) error {
				if err := do(c, "begin", read); err != nil {
					return err
				}
				pause := time.Duration(50+rand.IntN(100)) * time.Millisecond //nolint:gosec // a load
				slept.Add(int64(pause))
				time.Sleep(pause)
				err := do(c, "commit")
				time.Sleep(time.Duration(50+rand.IntN(200)) * time.Millisecond) //nolint:gosec // a load
				return err
			})
		})
		within(t, "pauses within transactions", r.Part(explain.Application).Seconds, time.Duration(slept.Load()).Seconds(),
			0.3)
	})
	t.Run("reconnects", func(t *testing.T) {
		// Threads that have worked long wait in the cache for their next sessions.
		db.SetMaxIdleConns(0)
		burn := "select benchmark(100000, md5('x'))"
		load(4, time.Second, func(c *sql.Conn, _ int) error { return do(c, burn) })
		var used float64
		r := during(t, dsn, 4*time.Second, func() {
			before, err := s.CPU()
			load(4, 4*time.Second, func(*sql.Conn, int) error {
				c, err := db.Conn(ctx)
				if err != nil {
					return err
				}
				defer c.Close()
				return do(c, burn)
			})
			after, err2 := s.CPU()
			if err != nil || err2 != nil {
				t.Error(err, err2)
			}
			used = (after.All - before.All).Seconds()
		})
		cpu := r.Part(explain.DatabaseCPU)
		within(t, "CPU", cpu.Seconds, used, 0.1)
		if cpu.Seconds > used*1.001+0.05 || cpu.Source != "schedstat" {
			t.Errorf("%v s of CPU (%s), the whole process %v", cpu.Seconds, cpu.Source, used)
		}
		quiet := during(t, dsn, time.Second, func() {
			load(4, 20*time.Millisecond, func(*sql.Conn, int) error {
				c, err := db.Conn(ctx)
				if err != nil {
					return err
				}
				defer c.Close()
				return do(c, "select 1")
			})
		})
		if v := quiet.Part(explain.DatabaseCPU).Seconds; v > 0.2 {
			t.Errorf("%v s of CPU on a quiet server", v)
		}
	})
}
