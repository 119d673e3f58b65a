//go:build bench

package runner

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/testkit"
)

// What a busy host may decide otherwise is a benchmark: see bench/livekill.

// A level that makes commits several times as long is taken back within a look, and for good if the baseline is calm
// then.
func TestLiveHarm(t *testing.T) {
	c := startCluster(t)
	period := counted(t, "LIVE_PERIOD", 6)
	for range counted(t, "LIVE_HARMS", 1) {
		b := newServed(t, steady)
		text := livePostgres(c, "commit_delay", strconv.Itoa(counted(t, "LIVE_DELAY", 100000)), period, 6)
		// the baseline is held for 90 looks after each
		b.study = parse(t, b.dir, strings.Replace(text, "[harm]", "[harm]\nstrikes = 1", 1))
		b.cfg.sys = nil
		testkit.OK(t, b.run())
		r := b.record()
		strikes, count := 0, 0
		for _, run := range r.Runs {
			if run.Harm != "" {
				strikes++
				if run.Harmless == "" {
					count++
				}
				testkit.Is(t, experiment.Current, run.After["parameter"], run.Seconds, "s", run.Harm, "then", run.After)
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
	text := strings.Replace(livePostgres(c, parameter, level, 2, counted(t, "LIVE_PAIRS", 7)),
		`responses = ["elapsed_per_transaction"]`, `responses = ["elapsed_per_transaction"]`+"\nabove = 10", 1)
	// PostgreSQL's sessions report their transactions once a second.
	text = strings.Replace(text, `settle = "300ms"`, `settle = "1200ms"`, 1)
	text = strings.Replace(text, "load = \"transactions_per_s\"", "", 1) // of clients that wait, it is an effect too
	b.study = parse(t, b.dir, strings.Replace(text, "primary = true",
		"primary = true\ncompare = \"difference\"\nequiv = \"500us\"", 1))
	b.cfg.sys = nil
	testkit.OK(t, b.run())
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
	t.Logf("%s %s: %s, %.2f ms (%.2f to %.2f); the clients say %.2f ms", parameter, level, e.Verdict, 1e3*e.Value,
		1e3*e.Low, 1e3*e.High, 1e3*truth)
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
		if e, _ := compressed(t, c, "deadlock_timeout", "7s"); e.Verdict == analysis.CostsMore ||
			e.Verdict == analysis.CostsLess {
			t.Errorf("%s where nothing has an effect", e.Verdict)
		}
	}
}
