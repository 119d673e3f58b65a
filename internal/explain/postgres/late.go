package postgres

import (
	"time"

	"hostlab/internal/explain"
)

// reading is how many transactions clients had ended at a count.
type reading struct {
	at           time.Time
	transactions int64
}

// end is how long a stretch at an end of the recording is, at least: as sessions tell of
// their transactions once a second, a shorter one may hold none.
const end = 2 * time.Second

// untold says how far the count of transactions may be off: a session tells of its own up
// to a second late (PGSTAT_MIN_INTERVAL in pgstat.c). So the count may hold a second's
// transactions from before the recording, and lack those of its last second.
func untold(readings []reading, a *explain.Account) {
	n := len(readings)
	if n < 2 || a.Transactions <= 0 {
		return
	}
	i, j := 1, n-2
	for i < n-1 && readings[i].at.Sub(readings[0].at) < end {
		i++
	}
	for j > 0 && readings[n-1].at.Sub(readings[j].at) < end {
		j--
	}
	rate := func(a, b reading) float64 {
		return float64(b.transactions-a.transactions) / max(b.at.Sub(a.at).Seconds(), flush)
	}
	a.Late = max(rate(readings[0], readings[i]), rate(readings[j], readings[n-1])) * flush
}
