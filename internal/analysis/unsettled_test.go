package analysis

import (
	"strings"
	"testing"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

func TestUnsettled(t *testing.T) {
	runs := func(tau, waited, lasts float64) (list []*result.Run) {
		for range 10 {
			list = append(list, &result.Run{Waited: waited, Seconds: lasts}, &result.Run{Waited: waited, Seconds: lasts,
				SettlesIn: tau})
		}
		return list
	}
	live := &result.Experiment{Design: result.Design{Kind: result.Switchback}}
	for _, c := range []struct {
		tau, waited, lasts float64
		want               string
	}{
		{0, 240, 300, "not known; if its time constant is 120 s, effects look smaller by up to 10 % of themselves"},
		{30, 240, 60, ""},
		{120, 480, 300, ""},
		{120, 240, 60, "smaller by up to 20 % of themselves"},
		{300, 600, 300, "smaller by up to 16 % of themselves"},
	} {
		got := unsettled(live, runs(c.tau, c.waited, c.lasts))
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
	testkit.Is(t, "", unsettled(&result.Experiment{}, runs(0, 240, 60)), "another design")
	struck := runs(120, 240, 60)
	for _, r := range struck {
		r.Harm = "x"
	}
	testkit.Is(t, "", unsettled(live, struck), "no period that counts")
}
