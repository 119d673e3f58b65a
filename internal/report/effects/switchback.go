package effects

import (
	"fmt"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// pairsMethod is what method is for pairs of periods.
const pairsMethod = "A pair is two periods of a service that others use, one at the baseline and one at the level, in random order. " +
	"Effects are estimated within pairs (on logarithms for ratios). Their intervals come from the exact distribution of " +
	"these random orders, and hold for all primary effects and all declared looks together. Inside the practical " +
	"margin an effect is none; beyond it, it costs; across it, nothing is decided. A period that was ended to be safe " +
	"counts as its level."

// paired reports whether an experiment is of pairs of periods.
func paired(x *result.Experiment) bool { return x.Design.Kind == result.Switchback }

// unitOf is what an effect counts, one of them.
func unitOf(e *analysis.Effect) string {
	if e.Unit == "pairs" {
		return "pair"
	}
	return "block"
}

// harmText is the headline of an experiment that was stopped to be safe; "" for others. It says harm only where the
// randomised comparison does.
func harmText(a *analysis.Analysis) string {
	if a.Ended != result.Harmed {
		return ""
	}
	what, why, times := "the level", "", 0
	for _, s := range a.Struck {
		if what, why = s.Level, s.Why; s.Harmless == "" {
			times++
		}
	}
	if why != "" {
		why = fmt.Sprintf(" In the last of %s at %s: %s.", screen.Count(times, "period"), what, why)
	}
	if a.Harms() {
		return fmt.Sprintf("%s harms the service, as the comparison in random order says. The experiment was stopped with the baseline back.%s", what,
			strings.TrimSuffix(why, "."))
	}
	return "stopped to be safe, with the baseline back." + why +
		fmt.Sprintf(" After %s, the comparison in random order does not show that %s is to blame",
			screen.Count(a.Blocks, "complete pair"), what)
}

// early are the periods that were ended to be safe.
func early(a *analysis.Analysis) (out document.List) {
	for _, s := range a.Struck {
		text := fmt.Sprintf("Pair %d, %s, after %s: %s.", s.Pair, s.Level, result.Format(s.Seconds, "s"), s.Why)
		if s.Harmless != "" {
			text += " It does not count: " + s.Harmless + "."
		}
		out = append(out, document.Line{Text: text})
	}
	return out
}

// loadText says what became of the adjustment for the load.
func loadText(d *analysis.Adjusted) string {
	return fmt.Sprintf("the drift of %s from pair to pair explains %s of the differences' variance, and was taken out",
		d.Load,
		percentOf(d.Explained))
}

// methodOf is that of a set's experiments.
func methodOf(s *Set) string {
	var texts []string
	for _, own := range []struct {
		text  string
		pairs bool
	}{{method, false}, {pairsMethod, true}} {
		for i := range s.Reports {
			if paired(s.Reports[i].head()) == own.pairs {
				texts = append(texts, own.text)
				break
			}
		}
	}
	return strings.Join(texts, " ")
}
