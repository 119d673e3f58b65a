package scanlock

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"hostlab/internal/cpus"
	"hostlab/internal/testkit"
)

// publishedRun is the first run that the program's author printed, -s8 -l7, of 10 s.
func publishedRun() Snapshot {
	count := func(cpu int, role Role, locked, spin, rounds uint64) Count {
		return Count{Thread: Thread{CPU: cpu, Role: role}, Acquisitions: locked, Spins: spin, Rounds: rounds}
	}
	return Snapshot{At: 10 * time.Second, Counts: []Count{
		count(3, Scan, 0, 0, 9035), count(0, Lock, 9290331, 10373717, 0),
		count(1, Lock, 676397, 40879794, 0), count(2, Lock, 10274030, 42433521, 0)}}
}

// publishedPlan is its plan: on that host CPUs 1 and 3 share a core.
func publishedPlan(t *testing.T) Plan {
	t.Helper()
	return testkit.Must(Make(asked("8", "7"), made(4)))(t)
}

func TestBetween(t *testing.T) {
	before := publishedRun()
	before.At = 5 * time.Second
	for i := range before.Counts {
		c := &before.Counts[i]
		c.Acquisitions, c.Spins, c.Rounds = c.Acquisitions/2, c.Spins/2, c.Rounds/2
	}
	got := Between(publishedPlan(t), before, publishedRun())
	nan := math.NaN()
	near := cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-3, 0)}
	want := Row{ID: 2, CPU: 1, Role: Lock, Affinity: "00000002", Near: cpus.Sibling, Acquisitions: 338199,
		Spins: 20439897, PerSecond: 67639.8, SpinsPerSecond: 4087979,
		SpinsPer: 60.44, OfFair: 0.1003, OnCPU: nan, Waited: nan}
	testkit.Is(t, "", cmp.Diff(want, got.Rows[2], near), "the starved thread (-want +got)")
	if r := got.Rows[0]; r.ScansPerSecond != 903.6 || r.PerSecond != 0 || !math.IsNaN(r.OfFair) ||
		!math.IsNaN(r.SpinsPer) {
		t.Errorf("the scanner: %+v", r)
	}
	if got.Locks != 3 || got.Seconds != 5 || math.Abs(got.PerSecond-2024075.8) > 1 || got.Scans != 903.6 {
		t.Errorf("%d threads in %g s: %g a second, %g scans", got.Locks, got.Seconds, got.PerSecond, got.Scans)
	}
}

func TestNothingIsNotZero(t *testing.T) {
	s := publishedRun()
	for i := range s.Counts {
		s.Counts[i].Acquisitions = 0
	}
	got := Between(publishedPlan(t), Snapshot{}, s)
	if !math.IsNaN(got.Rows[1].OfFair) || !math.IsNaN(got.Rows[1].SpinsPer) || got.PerSecond != 0 {
		t.Errorf("%+v", got)
	}
}
