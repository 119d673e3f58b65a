package testkit

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

// heard is a test that keeps what it is told of last.
type heard struct {
	testing.TB

	said string
}

func (h *heard) Helper()                           {}
func (h *heard) Errorf(format string, args ...any) { h.said = fmt.Sprintf(format, args...) }

// TestReports: each comparison is silent where it holds, and says both sides and what it is about where it does not.
func TestReports(t *testing.T) {
	wrong := errors.New("no such unit")
	for _, c := range []struct {
		holds, fails func(t testing.TB)
		says         string
	}{
		{func(t testing.TB) { Is(t, 1, 1) }, func(t testing.TB) { Is(t, 1, 2, "hosts of", "db") }, "hosts of db: 2, want 1"},
		{func(t testing.TB) { Is(t, "", "") }, func(t testing.TB) { Is(t, "a\nb", "a\nc") }, "(-want +got)"},
		{func(t testing.TB) { Is(t, 0.5, 0.5) }, func(t testing.TB) { Is(t, math.NaN(), math.NaN()) }, "want NaN"},
		{func(t testing.TB) { Same(t, []int{1}, []int{1}) }, func(t testing.TB) { Same(t, []int{1}, []int{2}, "CPUs") }, "CPUs: (-want +got)"},
		{func(t testing.TB) { Has(t, "a text", "text") }, func(t testing.TB) { Has(t, "a text", "word") }, `no "word" in:`},
		{func(t testing.TB) { Fails(t, wrong, "unit") }, func(t testing.TB) { Fails(t, nil, "") }, "gave <nil>"},
		{func(t testing.TB) { Refused(0, wrong)(t, "") }, func(t testing.TB) { Refused(0, wrong)(t, "time") }, `an error with "time"`},
	} {
		var h heard
		c.holds(&h)
		Is(t, "", h.said)
		c.fails(&h)
		Has(t, h.said, c.says)
	}
}
