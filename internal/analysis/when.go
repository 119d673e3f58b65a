package analysis

import (
	"fmt"
)

// When says in how many hours of the day runs were seen, as a sentence beside the verdicts: at other hours, neighbours
// may do other things. "" where no run counts.
func (a *Analysis) When() string {
	switch {
	case a.Hours <= 0:
		return ""
	case a.Hours >= 24:
		return "Runs began in all hours of the day"
	case a.Hours == 1:
		return "All runs began in one hour of the day; others may differ"
	}
	return fmt.Sprintf("Runs began in %d hours of the day; others may differ", a.Hours)
}
