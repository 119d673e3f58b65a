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
		return "All runs began within one hour of the day: at other hours the effect may be another"
	}
	return fmt.Sprintf("Runs began in %d hours of the day: at others the effect may be another", a.Hours)
}
