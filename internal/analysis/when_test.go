package analysis

import "testing"

func TestWhen(t *testing.T) {
	for hours, want := range map[int]string{0: "", 1: "Seen in 1 hour of the day", 5: "Seen in 5 hours of the day",
		24: "Seen in all hours of the day"} {
		if got := (&Analysis{Hours: hours}).When(); got != want {
			t.Errorf("%d: %q, want %q", hours, got, want)
		}
	}
}
