//go:build system

package runner

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// Experiments are killed at random moments and resumed until they end. Afterwards
// every planned run is there once, every run that was told to be recorded is, and
// the level is what it was. KILLS sets how many kills there are.
func TestKill(t *testing.T) {
	kills := 20
	if text := os.Getenv("KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	killed, experiments, sessions, lost := 0, 0, 0, 0
	for ; killed < kills; experiments++ {
		dir := t.TempDir()
		b := &bench{t: t, dir: dir, cfg: Config{Dir: filepath.Join(dir, "record")}}
		b.write("level", "original\n")
		b.write("s.toml", head(25, "")+killStudy)
		here := 0
		for {
			sessions++
			ok, output := killOnce(t, dir, here < 10 && killed < kills)
			if ok {
				break
			}
			if output != "" {
				t.Fatalf("experiment %d, after %d kills: %s", experiments, here, output)
			}
			here++
			killed++
		}
		b.complete()
		lost += b.accounted(here)
	}
	if t.Failed() {
		return
	}
	t.Logf("%d kills in %d experiments, %d sessions: no run lost or counted twice, all levels put back; %d runs were killed between their end and their record",
		killed, experiments, sessions, lost)
}

// killOnce runs a session, to its end or until it is killed. ok: it ended well.
// output is what it said if it failed.
func killOnce(t *testing.T, dir string, kill bool) (ok bool, output string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RUNNER_TEST_CHILD="+dir)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second // commands that it started may hold its output a little longer
	testkit.OK(t, cmd.Start())
	timer := time.NewTimer(time.Hour)
	if kill {
		timer.Reset(time.Duration(rand.Int64N(int64(500 * time.Millisecond))))
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return false, fmt.Sprintf("%v: %s", err, out.String())
		}
		return true, ""
	case <-timer.C:
		_ = cmd.Process.Kill()
		err := <-ended
		if cmd.ProcessState.Success() {
			return true, "" // it was quicker
		}
		if text := out.String(); text != "" {
			return false, fmt.Sprintf("%v: %s", err, text)
		}
		return false, ""
	}
}

// kept checks that no run is lost: the runner names each recorded run in the file "told", and the record has to have
// it.
func (b *bench) kept() {
	b.t.Helper()
	recorded := map[string]bool{}
	for _, r := range b.record().Runs {
		recorded[fmt.Sprintln(r.Block, r.Plot, r.Slot, r.Attempt, r.Status)] = true
	}
	told := testkit.Must(os.Open(filepath.Join(b.dir, "told")))(b.t)
	defer told.Close()
	for lines := bufio.NewScanner(told); lines.Scan(); {
		if !recorded[lines.Text()+"\n"] {
			b.t.Errorf("said to be recorded, and is not: %s", lines.Text())
		}
	}
}

// accounted checks that no recorded run is lost, and that the workload did no more than is recorded, but for
// runs in which a kill fell.
func (b *bench) accounted(kills int) (lost int) {
	b.t.Helper()
	runs := 0
	for _, r := range b.record().Runs {
		if r.Status == result.OK || r.Status == result.WarmUp {
			runs++
		} else {
			b.t.Errorf("a run is %s: %s", r.Status, r.Reason)
		}
	}
	b.kept()
	done := testkit.Must(os.ReadFile(filepath.Join(b.dir, "done")))(b.t)
	lost = strings.Count(string(done), "\n") - runs
	if lost < 0 || lost > kills {
		b.t.Errorf("the workload ran %d times more than is recorded, after %d kills", lost, kills)
	}
	return lost
}
