//go:build linux && amd64 && system

package windows

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hostlab/internal/delayfs"
	"hostlab/internal/testkit"
	"hostlab/internal/worker"
)

// postgres watches PostgreSQL's build for Windows, which is a service: while a session that has locked a row sleeps and others
// want it, while two sessions compute, and while four commit to a slow disk.
func (w *wine) postgres(t *testing.T) {
	w.begin(t)
	w.setCounters(t, watched)
	const name, service = "postgres-15-windows", "postgresql-x64-15"
	if out, err := exec.Command("../servers.sh", name).CombinedOutput(); err != nil {
		t.Fatalf("servers.sh %s: %v: %s", name, err, out)
	}
	bin := testkit.Must(filepath.Abs("../dl/servers/" + name + "/bin"))(t)
	data := "Z:" + w32(filepath.Join(slowDisk(t, w.dir), "pgdata"))
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	port := l.Addr().(*net.TCPAddr).Port
	testkit.OK(t, l.Close())
	server := func(args ...string) *exec.Cmd {
		return w.command(wine64, append([]string{filepath.Join(bin, args[0])}, args[1:]...)...)
	}
	testkit.OK(t, server("initdb.exe", "-D", data, "-A", "trust", "-U", "postgres", "--locale=C", "--no-sync").Run())
	t.Cleanup(func() { _ = server("pg_ctl.exe", "-D", data, "-m", "immediate", "stop").Run() })
	testkit.OK(t, server("pg_ctl.exe", "register", "-N", service, "-D", data, "-S", "demand", "-o", fmt.Sprintf("-h 127.0.0.1 -p %d -c wal_sync_method=fsync", port)).Run())
	w.boot(t) // as for burn
	dsn := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	w.within(t, "the service does not start", func() bool {
		_ = w.command(wine64, "sc", "start", service).Run()
		c, err := pgx.Connect(t.Context(), dsn)
		return err == nil && c.Close(t.Context()) == nil
	})
	// do runs a statement again and again in sessions of its own, and returns what ends them.
	do := func(sessions int, statement string) (end func()) {
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range sessions {
			c := testkit.Must(pgx.Connect(t.Context(), dsn))(t)
			all.Go(func() {
				defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it is broken off
				for ctx.Err() == nil {
					_, _ = c.Exec(ctx, statement)
				}
			})
		}
		return func() { stop(); all.Wait() }
	}
	c := testkit.Must(pgx.Connect(t.Context(), dsn))(t)
	testkit.Must(c.Exec(t.Context(), "create table stock (n int); insert into stock values (1)"))(t)
	testkit.OK(t, c.Close(t.Context()))

	holds, want := do(1, "begin; update stock set n = n + 1; select pg_sleep(1); commit"), do(3, "update stock set n = n + 1")
	w.try(t, 0, `locks whose holder waits itself.*Timeout:PgSleep`, "", "assess", "--only", "service", "--dsn", dsn, "--for", "10s", "--out", "-")
	w.try(t, 0, `On Windows hostlab does not find out which processes are a named server's`, "", "assess", "--only", "service", "--dsn", dsn, "--for", "2s", "--all", "--out", "-")
	holds()
	want()
	computes := do(2, "select count(i) from (select generate_series(1, 1000000) as i) numbers")
	w.try(t, 0, `PostgreSQL computes for [0-9.]+ %`, "", "assess", "--only", "service", "--dsn", dsn, "--for", "10s", "--out", "-")
	w.try(t, 0, `not a database that hostlab finds on Windows`, "", "assess", "--only", "service", "--service", "postgres", "--for", "2s", "--all", "--out", "-")
	w.try(t, 0, "Service "+service+" computes for 100 %.*--dsn shows the sessions of one", "", "assess", "--only", "service", "--service", "service:"+service, "--for", "6s", "--out", "-")
	computes()
	commits := do(4, "insert into stock values (2)")
	w.try(t, 0, `PostgreSQL waits [0-9.]+ % of its active time for the log(; [a-zA-Z0-9., %]+)?\. Use a faster log device`, "", "assess", "--only", "service", "--dsn", dsn, "--for", "10s", "--out", "-")
	commits()
}

// slowDisk is a directory in which each sync takes 5 ms more. Wine takes the place where it is mounted for a junction.
func slowDisk(t *testing.T, dir string) string {
	t.Helper()
	behind, at := filepath.Join(dir, "behind"), filepath.Join(dir, "slow")
	testkit.OK(t, errors.Join(os.Mkdir(behind, 0o700), os.Mkdir(at, 0o700)))
	m := testkit.Must(delayfs.New(t.Context(), behind, at, 5*time.Millisecond))(t)
	t.Cleanup(func() { _ = m.Close() })
	return at
}

func TestMain(m *testing.M) {
	worker.Main(delayfs.Jobs())
	os.Exit(m.Run())
}
