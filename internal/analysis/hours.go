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

// When says in how many hours of the day runs were seen, as a sentence about the runs: at other hours, neighbours
// may do other things. "" where no run counts.
func (a *Analysis) When() string {
	switch {
	case a.Hours <= 0:
		return ""
	case a.Hours >= 24:
		return "Runs began in all hours of the day"
	case a.Hours == 1:
		return "All runs began within one hour of the day: at other hours the effect may be another"
	}
	return fmt.Sprintf("Runs began in %d hours of the day: at others the effect may be another", a.Hours)
}
