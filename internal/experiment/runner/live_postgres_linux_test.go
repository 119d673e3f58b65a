//go:build system

package runner

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/result"
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
	return testkit.Must(strconv.Atoi(text))(t)
}

// Whoever is killed at whatever moment, what was is there again by itself, and no run is lost.
func TestLiveKilled(t *testing.T) {
	c := startCluster(t)
	kills, servers := counted(t, "LIVE_KILLS", 2), counted(t, "LIVE_SERVERS", 1)
	for killed, crashed := 0, 0; killed < kills || crashed < servers; {
		dir := t.TempDir()
		b := &bench{t: t, dir: dir, cfg: Config{Dir: filepath.Join(dir, "record")}}
		b.write("s.toml", livePostgres(c, "commit_delay", "2000", 2, 6))
		for here := 0; ; here++ {
			cmd := exec.Command(os.Args[0])
			var out strings.Builder
			cmd.Env = append(os.Environ(), "RUNNER_TEST_CHILD="+dir)
			cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
			testkit.OK(t, cmd.Start())
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
