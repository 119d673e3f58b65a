package analysis

import (
	"testing"

	"hostlab/internal/testkit"
)

func TestWhen(t *testing.T) {
	for hours, want := range map[int]string{0: "",
		1:  "All runs began within one hour of the day: at other hours the effect may be another",
		5:  "Runs began in 5 hours of the day: at others the effect may be another",
		24: "Runs began in all hours of the day"} {
		testkit.Is(t, want, (&Analysis{Hours: hours}).When(), hours)
	}
}
