package postgres

import (
	"testing"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/testkit"
)

// Parallel workers' own transactions leave open how many there were, unless this host began too few processes for that.
func TestTransactionsOfWorkers(t *testing.T) {
	now, err := forks()
	testkit.OK(t, err)
	for name, c := range map[string]struct {
		parallel  int
		here      bool
		forks     float64 // since the beginning
		low, high int64
	}{
		"no worker": {0, true, 1e9, 0, 0}, "another host": {1, false, 0, 0, 1e6},
		"many": {1, true, 2e5, 6e5, 1e6}, "few": {1, true, 1, 0, 0},
	} {
		s := &Source{parallel: c.parallel}
		s.begun.at, s.begun.forks = time.Now().Add(-10*time.Second), now-c.forks
		if c.here {
			s.threads = &explain.Threads{}
		}
		a := explain.Account{Transactions: 1e6}
		s.workers(explain.Growth{Seconds: 10}, &a)
		want := explain.Account{Transactions: 1e6}
		if c.high > 0 {
			want.Transactions = -1
		}
		testkit.Is(t, want.Transactions, a.Transactions, name)
		testkit.Is(t, c.high, a.TransactionsHigh, name)
		if d := a.TransactionsLow - c.low; d > 1e5 || d < -1e5 { // others begin processes meanwhile
			t.Errorf("%s: at least %d, want %d", name, a.TransactionsLow, c.low)
		}
	}
}
