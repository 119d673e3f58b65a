package report

import (
	"cmp"
	"fmt"
	"slices"

	"hostlab/internal/probe"
	"hostlab/internal/screen"
)

// BusyWarnings says in plain words where other load is part of the figures: what
// disturbed measurements, and which probes did not run alone. They stand under
// the verdict, so that nobody reads it without them. Empty on a quiet host.
func BusyWarnings(runs []probe.Outcome) []string {
	var out []string
	for i := range runs {
		o := &runs[i]
		title := cmp.Or(o.Title, o.Probe)
		var why []string // each reason once, with its number of figures
		figures := map[string]int{}
		for _, m := range o.Measurements {
			if d := m.Labels.Disturbed; d != "" {
				if figures[d]++; figures[d] == 1 {
					why = append(why, d)
				}
			}
		}
		slices.SortStableFunc(why, func(a, b string) int { return cmp.Compare(figures[b], figures[a]) })
		if len(why) > 0 {
			s := fmt.Sprintf("%s: %s (%s)", title, why[0], screen.Count(figures[why[0]], "figure"))
			if len(why) > 1 {
				more := 0
				for _, d := range why[1:] {
					more += figures[d]
				}
				s += fmt.Sprintf("; %s disturbed in like manner", screen.Count(more, "more figure"))
			}
			out = append(out, s)
		}
		if o.Busy != "" {
			out = append(out, title+": "+o.Busy)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append([]string{"This host was busy: the figures below include others' load."}, out...)
}
