package demo

import (
	"context"
	"os"
	"testing"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/testkit"
	"hostlab/internal/worker"
)

func TestMain(m *testing.M) {
	worker.Main(Jobs())
	os.Exit(m.Run())
}

// TestDemo: parts add up to what was seen, next to nothing is left over, and the log is as slow as was planted.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	s := testkit.Must(Start(context.Background(), dir))(t)
	time.Sleep(2 * time.Second) // until its load is what it should be
	rep := testkit.Must(explain.Record(context.Background(), s, explain.Options{For: 4 * time.Second}))(t)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	sum := 0.0
	for _, p := range rep.Parts {
		t.Logf("%-14s %6.3f s %s %s", p.Name, p.Seconds, p.Share.Percent().Interval(), p.Source)
		sum += p.Seconds
	}
	t.Logf("%d transactions, %d commits of %.0f us, busy %.2f of %.2f s, warnings %v", rep.Transactions, rep.Log.Writes,
		1e6**rep.Log.Average, rep.Busy, rep.Elapsed, rep.Warnings)
	if rep.Transactions < 50 || rep.Log.Writes < 10 {
		t.Errorf("%d transactions and %d commits in 4 s", rep.Transactions, rep.Log.Writes)
	}
	if rest := rep.Part(explain.Unexplained).Seconds; rest > 0.03*rep.Busy {
		t.Errorf("%.3f s of %.3f s of active time are unexplained", rest, rep.Busy)
	}
	// Of the commits under way as the account begins or ends, a part is seen, and of 1,200 those are 16 at most.
	if each := *rep.Log.Average; each < 0.98*slow.Seconds() {
		t.Errorf("a commit waits for %.2g s, on a log that is slower by %v", each, slow)
	}
	if d := sum - rep.Elapsed; d > 0.01*rep.Elapsed || d < -0.01*rep.Elapsed {
		t.Errorf("parts add up to %.3f s of %.3f s", sum, rep.Elapsed)
	}
}
