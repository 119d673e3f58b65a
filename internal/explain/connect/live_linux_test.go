//go:build system

package connect

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
)

// TestPostgres explains a server of our own that commits, then one that is killed
// meanwhile.
func TestPostgres(t *testing.T) {
	s := testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL,
		privatedb.Config{Parent: t.TempDir(), Settings: map[string]string{"track_wal_io_timing": "on",
			"track_io_timing": "on"}}))(t)
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	c := testkit.Must(s.Connect(t.Context()))(t)
	testkit.Must(c.Exec(ctx, "create table t(a int); create role blind login"))(t)
	work.Go(func() {
		defer c.Close(context.Background())
		for ctx.Err() == nil {
			if _, err := c.Exec(ctx, "insert into t select generate_series(1, 50)"); err != nil {
				return
			}
		}
	})
	explainAs := func(user string, lasts time.Duration, during func()) explain.Report {
		t.Helper()
		d := testkit.Must(Parse("host=" + s.SocketDir() + " user=" + user + " dbname=postgres password=s3cr3t"))(t)
		src := testkit.Must(Open(t.Context(), d))(t)
		defer src.Close()
		if during != nil {
			time.AfterFunc(1500*time.Millisecond, during)
		}
		return testkit.Must(explain.Record(t.Context(), src, explain.Options{For: lasts}))(t)
	}
	r := explainAs(privatedb.Role, 4*time.Second, nil)
	var sum float64
	for _, p := range r.Parts {
		sum += p.Share.Value
	}
	if sum < 0.97 || sum > 1.03 || r.Part(explain.LogWait).Seconds <= 0 || r.Part(explain.DatabaseCPU).Seconds <= 0 {
		t.Errorf("parts add up to %v: %+v", sum, r.Parts)
	}
	sum = 0
	for _, p := range r.Parts {
		sum += p.Seconds
	}
	if sum < 0.995*r.Elapsed || sum > 1.005*r.Elapsed || r.Looks == 0 || r.Looks != r.Samples ||
		float64(r.Questions) > 1.5*r.Wall+2 {
		t.Errorf("%v s of %v; %d looks of %d samples, %d questions in %v s: %q", sum, r.Elapsed, r.Looks, r.Samples,
			r.Questions, r.Wall, r.Missing)
	}
	saves := r.Saving(explain.LogWait, nil)
	if r.Log.Syncs <= 0 || r.Log.Average == nil || r.Transactions <= 0 || saves.AtMost < saves.Likely ||
		saves.Likely < saves.Share {
		t.Errorf("log %+v, %d transactions, %+v", r.Log, r.Transactions, saves)
	}
	if r = explainAs("blind", time.Second, nil); !strings.Contains(strings.Join(r.Missing, "; "),
		`grant pg_read_all_stats (or pg_monitor) to "blind"`) {
		t.Errorf("a user without rights: %q", r.Missing)
	}
	r = explainAs(privatedb.Role, time.Minute, func() { _ = syscall.Kill(s.PID(), syscall.SIGKILL) })
	if !strings.Contains(r.Ended, "server") || r.Wall <= 0 || r.Wall > 30 {
		t.Errorf("killed: %q after %v s", r.Ended, r.Wall)
	}
}
