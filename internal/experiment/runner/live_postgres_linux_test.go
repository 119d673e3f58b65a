//go:build system

package runner

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/testkit"
)

// livePostgres is a study compressed in time: a parameter with its level, in periods of so many seconds.
func livePostgres(c *cluster, parameter, level string, seconds, pairs int) string {
	return fmt.Sprintf(`
[study]
name = "t"
[design]
looks = [%d]
load = "transactions_per_s"
[[factor]]
name = "parameter"
server = %q
levels = ["current", %q]
settle = "300ms"
[workload]
name = "observe"
dsn = %q
for = "%ds"
short = "0s"
every = "1s"
retries = 9
[harm]
every = "1s"
responses = ["elapsed_per_transaction"]
limit = {elapsed_per_transaction = "100s"}
[[response]]
name = "elapsed_per_transaction"
primary = true
[[response]]
name = "transactions_per_s"
primary = false
`, pairs, parameter, level, c.dsn(), seconds)
}

func counted(t *testing.T, variable string, other int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return other
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A level that makes commits several times as long is taken back within a look, and for good if the baseline is calm then.
func TestLiveHarm(t *testing.T) {
	c := startCluster(t)
	period := counted(t, "LIVE_PERIOD", 6)
	for range counted(t, "LIVE_HARMS", 1) {
		b := newServed(t, steady)
		text := livePostgres(c, "commit_delay", strconv.Itoa(counted(t, "LIVE_DELAY", 100000)), period, 6)
		b.study = parse(t, b.dir, strings.Replace(text, "[harm]", "[harm]\nstrikes = 1", 1)) // the baseline is held for 90 looks after each
		b.cfg.sys = nil
		if err := b.run(); err != nil {
			t.Fatal(err)
		}
		r := b.record()
		strikes, count := 0, 0
		for _, run := range r.Runs {
			if run.Harm != "" {
				strikes++
				if run.Harmless == "" {
					count++
				}
				if run.After["parameter"] != experiment.Current {
					t.Errorf("%.1f s: %s; then %v", run.Seconds, run.Harm, run.After)
				}
			}
		}
		// A strike counts where the baseline is calm after it: on a busy host it may not be.
		if strikes == 0 || r.End == nil || r.End.Reason == result.Harmed && count == 0 {
			t.Errorf("%d strikes, of which %d count, end %+v", strikes, count, r.End)
		}
		if ok, said := c.original("commit_delay", "0"); !ok {
			t.Error(said)
		}
		t.Logf("%q", b.notes)
	}
}

// compressed runs a study that no harm stops. It returns the effect, and what the clients measured of it in the
// same periods, in s.
func compressed(t *testing.T, c *cluster, parameter, level string) (e analysis.Effect, truth float64) {
	t.Helper()
	b := newServed(t, steady)
	text := strings.Replace(livePostgres(c, parameter, level, 2, counted(t, "LIVE_PAIRS", 7)), `responses = ["elapsed_per_transaction"]`, `responses = ["elapsed_per_transaction"]`+"\nabove = 10", 1)
	// PostgreSQL's sessions report their transactions once a second.
	text = strings.Replace(text, `settle = "300ms"`, `settle = "1200ms"`, 1)
	text = strings.Replace(text, "load = \"transactions_per_s\"", "", 1) // of clients that wait, it is an effect too
	b.study = parse(t, b.dir, strings.Replace(text, "primary = true", "primary = true\ncompare = \"difference\"\nequiv = \"500us\"", 1))
	b.cfg.sys = nil
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	r := b.record()
	var pairs []float64 // differences
	at := map[int][2]float64{}
	for _, run := range r.Runs {
		if run.Status == result.OK {
			both := at[run.Block]
			both[run.Cell] = c.latency(run.Start, run.Start.Add(time.Duration(run.Seconds*float64(time.Second))))
			at[run.Block] = both
		}
	}
	for _, both := range at {
		pairs = append(pairs, both[1]-both[0])
	}
	truth = stats.Median(pairs)
	e = analysis.Analyse(r.Experiment, r.Runs, r.End).Effects[0]
	t.Logf("%s %s: %s, %.2f ms (%.2f to %.2f); the clients say %.2f ms", parameter, level, e.Verdict, 1e3*e.Value, 1e3*e.Low, 1e3*e.High, 1e3*truth)
	return e, truth
}

// An effect of known size is found, and the truth, measured by the clients, is inside of its interval.
// A parameter that does nothing has none.
func TestLiveEffect(t *testing.T) {
	c := startCluster(t)
	of := counted(t, "LIVE_EFFECTS", 1)
	// An interval of 95 % misses the truth now and then, and a busy host more often: one study may, and one in ten.
	for right, wrong := 0, 0; right < of; {
		// The verdict, and an estimate near the truth, take a quiet host or more pairs.
		e, truth := compressed(t, c, "commit_delay", "20000")
		if near := of == 1 || math.Abs(e.Value-truth) < 0.35*truth; e.Low <= truth && truth <= e.High && near {
			right++
		} else if wrong++; wrong > max(1, of/10) {
			t.Fatalf("%d of %d studies did not find the truth", wrong, right+wrong)
		}
	}
	for range counted(t, "LIVE_AA", 0) {
		if e, _ := compressed(t, c, "deadlock_timeout", "7s"); e.Verdict == analysis.CostsMore || e.Verdict == analysis.CostsLess {
			t.Errorf("%s where nothing has an effect", e.Verdict)
		}
	}
}

// Whoever is killed at whatever moment, what was is there again by itself, and no run is lost.
func TestLiveKilled(t *testing.T) {
	c := startCluster(t)
	kills, servers := counted(t, "LIVE_KILLS", 4), counted(t, "LIVE_SERVERS", 2)
	for killed, crashed := 0, 0; killed < kills || crashed < servers; {
		dir := t.TempDir()
		b := &bench{t: t, dir: dir, cfg: Config{Dir: filepath.Join(dir, "record")}}
		b.write("s.toml", livePostgres(c, "commit_delay", "2000", 2, 6))
		for here := 0; ; here++ {
			cmd := exec.Command(os.Args[0])
			var out strings.Builder
			cmd.Env = append(os.Environ(), "RUNNER_TEST_CHILD="+dir)
			cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- cmd.Wait() }()
			err := errors.New("it runs")
			for ends := false; !ends; {
				random := 300*time.Millisecond + time.Duration(rand.Int64N(int64(4*time.Second)))
				if here >= 6 || killed >= kills && crashed >= servers {
					random = 5 * time.Minute
				}
				select {
				case err = <-done:
					ends = true
				case <-time.After(random):
					if crashed < servers && rand.IntN(kills+servers) < servers || killed >= kills {
						crashed++
						_ = syscall.Kill(int(c.pid.Load()), syscall.SIGKILL)
						continue
					}
					killed++
					_ = cmd.Process.Kill()
					<-done //nolint:errcheck // it was killed
					ends = true
				}
			}
			if err == nil {
				break
			}
			text := out.String()
			if crashed > 0 && strings.Contains(text, "nothing was changed") { // the server was away when it began
				text = ""
			}
			if text != "" {
				t.Fatalf("after %d kills and %d crashes: %s", killed, crashed, text)
			}
			ok, said := false, ""
			for end := testkit.End(t); !ok && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				ok, said = c.original("commit_delay", "0")
			}
			if !ok {
				t.Fatalf("after kill %d: %s", killed, said)
			}
		}
		if ok, said := c.original("commit_delay", "0"); !ok {
			t.Errorf("at the end: %s", said)
		}
		b.done()
	}
	t.Logf("%d kills of hostlab and %d of the server: nothing left changed, no run lost", kills, servers)
}

// done checks that no recorded run is lost, and that the plan was done.
func (b *bench) done() {
	b.t.Helper()
	ok := 0
	r := b.record()
	for _, run := range r.Runs {
		if run.Status == result.OK {
			ok++
		}
	}
	if r.End == nil || ok != 2*len(r.Experiment.Blocks) && r.End.Reason != result.Harmed || len(r.Changed()) > 0 {
		b.t.Errorf("end %+v, %d runs ok of %d pairs, open %v", r.End, ok, len(r.Experiment.Blocks), r.Changed())
	}
	b.kept()
}
