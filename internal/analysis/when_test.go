package analysis

import "testing"

func TestWhen(t *testing.T) {
	for hours, want := range map[int]string{0: "", 1: "All runs began in one hour of the day; others may differ", 5: "Runs began in 5 hours of the day; others may differ",
		24: "Runs began in all hours of the day"} {
		if got := (&Analysis{Hours: hours}).When(); got != want {
			t.Errorf("%d: %q, want %q", hours, got, want)
		}
	}
}
