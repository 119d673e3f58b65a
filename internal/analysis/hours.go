package analysis

import "hostlab/internal/result"

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
