//go:build system

package connect

import (
	"context"
	"math"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
)

// TestMariaDB explains a server of our own that commits and waits for rows, and is
// killed meanwhile.
func TestMariaDB(t *testing.T) {
	s, err := privatedb.Start(t.Context(), privatedb.MariaDB, privatedb.Config{Parent: t.TempDir(), LogBytes: 8 << 20})
	testkit.OK(t, err)
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	db := testkit.Must(s.Open())(t)
	defer db.Close()
	testkit.Must(db.Exec("create table t (a int primary key auto_increment, b varchar(200))"))(t)
	for range 2 {
		work.Go(func() {
			for ctx.Err() == nil {
				if _, err := db.ExecContext(ctx, "insert into t (b) values (repeat('x', 200))"); err != nil {
					return
				}
			}
		})
	}
	d := testkit.Must(Parse("mysql://u:s3cr3t@localhost/?socket=" + s.SocketDir() + "/mariadb.sock"))(t)
	open := func() explain.Source {
		src := testkit.Must(Open(t.Context(), d))(t)
		t.Cleanup(func() { src.Close() })
		return src
	}
	r := testkit.Must(explain.Record(t.Context(), open(), explain.Options{For: 3 * time.Second}))(t)
	var sum float64
	for _, p := range r.Parts {
		sum += p.Share.Value
	}
	if math.Abs(sum-1) > 0.03 || r.Part(explain.LogWait).Seconds <= 0 || r.Part(explain.DatabaseCPU).Seconds <= 0 ||
		r.Part(explain.DatabaseCPU).Source != "schedstat" {
		t.Errorf("parts add up to %v: %+v", sum, r.Parts)
	}
	if r.Looks == 0 || r.Looks != r.Samples {
		t.Errorf("%d of %d samples are looks at its threads, want all", r.Looks, r.Samples)
	}
	committed := false
	for _, e := range r.Events {
		committed = committed || e.Name == "Commit" && e.Meaning != "" && e.Part == explain.LogWait
	}
	if !committed || r.Log.Writes <= 0 || r.Log.Bytes <= 0 || r.Transactions <= 0 || r.Hidden {
		t.Errorf("events %+v, log %+v, %d transactions, hidden %v", r.Events, r.Log, r.Transactions, r.Hidden)
	}
	if missing := strings.Join(r.Missing, "; "); !strings.Contains(missing, "performance_schema=ON") ||
		strings.Contains(missing, "PROCESS") {
		t.Errorf("not seen: %q", missing)
	}
	src := open()
	time.AfterFunc(4*time.Second, func() { _ = syscall.Kill(s.PID(), syscall.SIGKILL) })
	r, err = explain.Record(t.Context(), src, explain.Options{For: time.Minute})
	if err != nil || r.Ended == "" || strings.Contains(r.Ended, "s3cr3t") || strings.Contains(r.Ended, "\n") ||
		r.Wall > 30 {
		t.Errorf("killed: %q after %v s, %v", r.Ended, r.Wall, err)
	}
}
