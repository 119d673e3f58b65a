package experiment

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// typical are the pairs after which 8 of 10 experiments on the simulated services of bench/switchback tell
// such an effect from none.
var typical = []struct {
	effect float64
	pairs  int
}{{0.10, 14}, {0.05, 20}, {0.03, 30}}

// pairsText says what a pair is, and after how many the experiment may end.
func (s *Study) pairsText() string {
	text := fmt.Sprintf("two periods each, at the baseline and at the level, in random order; may stop after %s pairs",
		s.looksText())
	if s.Design.Load != "" {
		text += "; adjusted for the drift of " + s.Design.Load
	}
	return text
}

// pairsTakeText says how long effects of some sizes would take to be seen, and when it ends at the latest.
func (s *Study) pairsTakeText() []string {
	last := s.Design.Looks[len(s.Design.Looks)-1]
	first := fmt.Sprintf("a pair takes %s", rough(s.BlockTime(last-1, 0)))
	short := 0
	for short < last && s.Paced(short) < s.Paced(last-1) {
		short++
	}
	if short > 0 {
		first += fmt.Sprintf("; the first %d take %s each", short, rough(s.BlockTime(0, 0)))
	}
	var seen []string
	for _, t := range typical { // with the usual periods
		if s.Quick() != "" {
			break
		}
		i := slices.IndexFunc(s.Design.Looks, func(l int) bool { return l >= t.pairs })
		if i < 0 {
			break
		}
		seen = append(seen, fmt.Sprintf("%.0f %% about %s (%d pairs)", 100*t.effect, rough(s.after(s.Design.Looks[i], 0)),
			s.Design.Looks[i]))
	}
	out := []string{first}
	if quick := s.Quick(); quick != "" {
		out = append(out, "shows "+quick)
	}
	if len(seen) > 0 {
		out = append(out, "to show an effect, on a service as noisy as the simulated ones: "+strings.Join(seen, ", "))
	}
	if most := s.after(last, 0); s.Budget <= 0 || most <= s.Budget {
		return append(out, fmt.Sprintf("ends at the latest after %s, %d pairs", rough(most), last))
	}
	fit := sort.Search(last, func(n int) bool { return s.after(n+1, 0) > s.Budget })
	return append(out, fmt.Sprintf("ends after %s, with about %d pairs", screen.Brief(s.Budget), fit))
}

// harmText says what ends a period, and the experiment.
func (s *Study) harmText() []string {
	h := s.Harm
	text := fmt.Sprintf(
		"every %s: back to the baseline at once where %s at the level is above the baseline's by %s in %d of %d looks",
		screen.Brief(h.Every), strings.Join(h.Responses, " or "), result.Percent(h.Above, 2), HarmMany, HarmLooks)
	for i, limit := range h.Limits {
		if !math.IsNaN(limit) {
			text += fmt.Sprintf(", or %s above %s in two looks running", h.Responses[i],
				result.Format(limit, s.unit(h.Responses[i])))
		}
	}
	if h.Strikes == 1 {
		return []string{text,
			"the experiment ends with the first period that ends like this, if the baseline is calm after it"}
	}
	return []string{text, fmt.Sprintf(
		"the experiment ends when %d periods at the level have ended like this, each with a calm baseline after it; "+
			"two in a row without harm reset the count", h.Strikes)}
}

// unit of a response, of the study or of the workload.
func (s *Study) unit(name string) string {
	for _, r := range s.Responses {
		if r.Name == name {
			return r.Unit
		}
	}
	for _, r := range s.description().Responses {
		if r.Name == name {
			return r.Unit
		}
	}
	return ""
}
