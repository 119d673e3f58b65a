//go:build bench

package loads

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/explain/connect"
	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
)

// around is what a recording lasts before and after the load that it holds.
const around = 700 * time.Millisecond

// during records while a load runs that begins and ends within the recording.
func during(t *testing.T, dsn string, lasts time.Duration, load func()) explain.Report {
	t.Helper()
	d := testkit.Must(connect.Parse(dsn))(t)
	src := testkit.Must(connect.Open(t.Context(), d))(t)
	defer src.Close()
	ended := make(chan bool)
	go func() {
		defer close(ended)
		time.Sleep(around)
		load()
	}()
	r := testkit.Must(explain.Record(t.Context(), src, explain.Options{For: lasts + 2*around}))(t)
	<-ended
	t.Logf("%s %d transactions, busy %.2f of %.2f s, warnings %q", (&assess.Minute{Report: r}).Verdict(nil),
		r.Transactions, r.Busy, r.Elapsed, r.Warnings)
	return r
}

// within fails where a number is off by more than a share.
func within(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	near(t, what, got, want, share*want)
}

// counted fails where a number of transactions is off by more than 2 %, or than four: a
// busy machine runs few of them, and some begin or end between two looks.
func counted(t *testing.T, got int64, want float64) {
	t.Helper()
	near(t, "transactions", float64(got), want, max(0.02*want, 4))
}

// counts runs a load of 10 s whose transactions follow from how statements come. On a busy
// machine they may come so unevenly that a range is given: never a wrong one, and not in
// three recordings.
func counts(t *testing.T, dsn string, load func() float64) {
	t.Helper()
	for range 3 {
		var count float64
		r := during(t, dsn, 10*time.Second, func() { count = load() })
		if r.Transactions >= 0 {
			counted(t, r.Transactions, count)
			return
		}
		if float64(r.TransactionsLow) > count || float64(r.TransactionsHigh) < count {
			t.Errorf("%v transactions, from %d to %d are said", count, r.TransactionsLow, r.TransactionsHigh)
		}
	}
	t.Error("a range each time")
}

func near(t *testing.T, what string, got, want, most float64) {
	t.Helper()
	t.Logf("%s: %.3f, independently %.3f", what, got, want)
	if math.Abs(got-want) > most {
		t.Errorf("%s: %.3f, independently %.3f", what, got, want)
	}
}

func startPostgres(t *testing.T) (s *privatedb.Server, dsn string) {
	t.Helper()
	s = testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL,
		privatedb.Config{Parent: t.TempDir(), Settings: map[string]string{"track_wal_io_timing": "on",
			"track_io_timing": "on", "autovacuum": "off"}}))(t)
	t.Cleanup(func() { _ = s.Close() })
	c := testkit.Must(s.Connect(t.Context()))(t)
	defer c.Close(context.Background())
	testkit.Must(c.Exec(t.Context(), "create table t(a int)"))(t)
	return s, "host=" + s.SocketDir() + " user=" + privatedb.Role + " dbname=postgres"
}

// pgbench runs a script and returns how many transactions the client counts.
func pgbench(t *testing.T, s *privatedb.Server, script string, args ...string) (transactions float64) {
	name := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
		t.Error(err)
		return 0
	}
	args = append([]string{"-n", "-h", s.SocketDir(), "-U", privatedb.Role, "-f", name}, append(args, "postgres")...)
	bench := []string{filepath.Join(filepath.Dir(s.Programs.Server), "pgbench")}
	if more, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench"); len(more) > 0 { // Debian's wrappers are elsewhere
		bench = more
	}
	out, err := exec.CommandContext(t.Context(), bench[0], args...).CombinedOutput()
	m := regexp.MustCompile(`transactions actually processed: (\d+)`).FindSubmatch(out)
	if err != nil || m == nil {
		t.Errorf("pgbench: %v\n%s", err, out)
		return 0
	}
	transactions, _ = strconv.ParseFloat(string(m[1]), 64)
	return transactions
}

// TestLoads explains what pgbench does, beside its own count and the kernel's.
func TestLoads(t *testing.T) {
	s, dsn := startPostgres(t)
	t.Run("pauses", func(t *testing.T) { pauses(t, s, dsn) })
	t.Run("reconnects", func(t *testing.T) { reconnects(t, s, dsn) })
	t.Run("starved", func(t *testing.T) { starved(t, s, dsn) })
	t.Run("modes", func(t *testing.T) { modes(t, s, dsn) })
}

// Clients that think between transactions are idle, also in a pause that is still open
// when the recording ends; those that think within one are not.
func pauses(t *testing.T, s *privatedb.Server, dsn string) {
	t.Helper()
	for _, c := range []struct {
		name, script string
		idle         bool
	}{
		{"between", "begin;\ninsert into t values (1);\nend;\n\\sleep 700 ms\n", true},
		{"within", "begin;\ninsert into t values (1);\n\\sleep 700 ms\nend;\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var count float64
			r := during(t, dsn, 4*time.Second, func() { count = pgbench(t, s, c.script, "-c", "10", "-T", "3") })
			counted(t, r.Transactions, count)
			app, idle := r.Part(explain.Application).Share.Value, r.Part(explain.Idle).Share.Value
			if c.idle && (app > 0.1 || idle < 0.75) || !c.idle && (app < 0.75 || idle > 0.25) { // clients wait for a CPU, too
				t.Errorf("application %v, idle %v", app, idle)
			}
			// Others on this host make both waits for a CPU longer: the server's, and the client's between its statements.
			own := r.Busy - r.Part(explain.RunQueue).Seconds - r.Part(explain.Application).Seconds
			if log := r.Part(explain.LogWait).Seconds / own; c.idle && log < 0.02 {
				t.Errorf("the log is %v of the server's own time within transactions", log)
			}
		})
	}
}

// CPU time of sessions that connect anew for each transaction is all there, and so are
// transactions.
func reconnects(t *testing.T, s *privatedb.Server, dsn string) {
	t.Helper()
	var count, used float64
	r := during(t, dsn, 5*time.Second, func() {
		before, err := s.CPU()
		count = pgbench(t, s, "select sum(length(md5(i::text))) from generate_series(1, 60000) i;\n", "-c", "3", "-C",
			"-T", "4")
		after, err2 := s.CPU()
		if err != nil || err2 != nil {
			t.Error(err, err2)
		}
		used = (after.All - before.All).Seconds()
	})
	counted(t, r.Transactions, count)
	within(t, "CPU", r.Part(explain.DatabaseCPU).Seconds, used, 0.1)
}

// Sessions that wait for a CPU are said to, first of all.
func starved(t *testing.T, s *privatedb.Server, dsn string) {
	t.Helper()
	var count, used, queued float64
	r := during(t, dsn, 5*time.Second, func() {
		before, err := s.CPU()
		ended := make(chan float64)
		go func() {
			ended <- pgbench(t, s, "select sum(length(md5(i::text))) from generate_series(1, 5000) i;\n", "-c", "8", "-T", "4")
		}()
		for end := time.Now().Add(3900 * time.Millisecond); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			queued = max(queued, waited(s.PID()))
		}
		count = <-ended
		after, err2 := s.CPU()
		if err != nil || err2 != nil {
			t.Error(err, err2)
		}
		used = (after.All - before.All).Seconds()
	})
	counted(t, r.Transactions, count)
	within(t, "CPU", r.Part(explain.DatabaseCPU).Seconds, used, 0.1)
	// What sessions waited between the last look at them and their end is an interval.
	if q := r.Part(explain.RunQueue); queued < 0.9*q.Share.Low*r.Elapsed || queued > 1.1*q.Share.High*r.Elapsed {
		t.Errorf("wait for a CPU: %.3f s [%.3f, %.3f], independently %.3f s", q.Seconds, q.Share.Low*r.Elapsed,
			q.Share.High*r.Elapsed, queued)
	}
	if said := (&assess.Minute{Report: r}).Verdict(nil); !regexp.MustCompile(`waits \d+ % of its active time for a CPU|wait for a CPU \d+ %`).MatchString(said) {
		t.Error(said)
	}
}

// waited is for how long processes of a server that serve clients have waited for a CPU, in s.
func waited(server int) (sum float64) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		line, _ := os.ReadFile(name)
		if !strings.Contains(string(line), "[local]") || !strings.Contains(string(line), "SELECT") &&
			!strings.Contains(string(line), "idle") {
			continue
		}
		dir := filepath.Dir(name)
		stat, _ := os.ReadFile(dir + "/stat")
		if f := strings.Fields(string(stat)); len(f) < 4 || f[3] != strconv.Itoa(server) {
			continue
		}
		b, _ := os.ReadFile(dir + "/schedstat")
		var run, queue, n float64
		if _, err := fmt.Sscan(string(b), &run, &queue, &n); err == nil {
			sum += queue / 1e9
		}
	}
	return sum
}

// A log that is written in two modes shows both: its mean hides neither.
func modes(t *testing.T, s *privatedb.Server, dsn string) {
	t.Helper()
	r := during(t, dsn, 6*time.Second, func() {
		pgbench(t, s, "insert into t values (1);\n", "-c", "1", "-T", "2")
		pgbench(t, s, "insert into t select generate_series(1, 40000);\n", "-c", "1", "-T", "3")
	})
	n := len(r.Log.Stretches)
	if n < 4 {
		t.Fatalf("stretches: %v", r.Log.Stretches)
	}
	least, most := math.Inf(1), 0.0
	for _, v := range r.Log.Stretches {
		least, most = min(least, v), max(most, v)
	}
	if most < 2*least || *r.Log.Average < least || *r.Log.Average > most {
		t.Errorf("average %v, stretches %v", r.Log.Average, r.Log.Stretches)
	}
}
