package analysis

import (
	"fmt"

	"hostlab/internal/result"
)

// seen notes when the runs were: what was not seen may be otherwise.
func (a *Analysis) seen(used []*result.Run) {
	hours := map[int]bool{}
	for _, run := range used {
		if a.First.IsZero() || run.Start.Before(a.First) {
			a.First = run.Start
		}
		if run.Start.After(a.Last) {
			a.Last = run.Start
		}
		hours[run.Start.Hour()] = true
	}
	a.Hours = len(hours)
}

// HoursText says when the runs were: "from 2026-11-22 09:30 to 13:05 UTC, in 5 of the
// day's 24 hours".
func (a *Analysis) HoursText() string {
	if a.First.IsZero() {
		return "none yet"
	}
	last := a.Last.Format("15:04 MST")
	if a.First.Format("2006-01-02") != a.Last.Format("2006-01-02") {
		last = a.Last.Format("2006-01-02 15:04 MST")
	}
	return fmt.Sprintf("from %s to %s, in %d of the day's 24 hours", a.First.Format("2006-01-02 15:04"), last, a.Hours)
}
