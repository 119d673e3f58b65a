package analysis

import (
	"fmt"

	"hostlab/internal/screen"
)

// When says in how many hours of the day runs were seen, as a sentence beside the verdicts: at other hours, neighbours
// may do other things. "" where no run counts.
func (a *Analysis) When() string {
	switch {
	case a.Hours <= 0:
		return ""
	case a.Hours >= 24:
		return "Seen in all hours of the day"
	}
	return fmt.Sprintf("Seen in %s of the day", screen.Count(a.Hours, "hour"))
}
