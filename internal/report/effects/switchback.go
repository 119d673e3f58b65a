package effects

import (
	"fmt"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/result"
)

// pairsMethod is what method is for pairs of periods.
const pairsMethod = "A pair is two periods of a service that others use, one at the baseline and one at the level, in random order. " +
	"Effects are estimated within pairs (on logarithms for ratios). Their intervals come from the exact distribution of " +
	"these random orders, and hold for all primary effects and all declared looks together. Inside the practical " +
	"margin an effect is none; beyond it, it costs; across it, nothing is decided. A period that harm has ended " +
	"counts as its level."

// paired reports whether an experiment is of pairs of periods.
func paired(x *result.Experiment) bool { return x.Design.Test == result.Switchback }

// unitOf is what an effect counts, one of them.
func unitOf(e *analysis.Effect) string {
	if e.Unit == "pairs" {
		return "pair"
	}
	return "block"
}

// harmText is the headline of an experiment that harm has ended; "" for others.
func harmText(a *analysis.Analysis) string {
	if a.Ended != result.Harmed {
		return ""
	}
	what, why := "the level", ""
	if n := len(a.Struck); n > 0 {
		what, why = a.Struck[n-1].Level, ": "+a.Struck[n-1].Why
	}
	return fmt.Sprintf("%s harmed the service, and the experiment was stopped with the baseline back%s", what, why)
}

// early are the periods that harm has ended.
func early(a *analysis.Analysis) (out document.List) {
	for _, s := range a.Struck {
		out = append(out, document.Line{Text: fmt.Sprintf("Pair %d, %s, after %s: %s.", s.Pair, s.Level,
			result.Format(s.Seconds, "s"), s.Why)})
	}
	return out
}

// loadText says what became of the adjustment for the load.
func loadText(d *analysis.Adjusted) string {
	return fmt.Sprintf("the drift of %s from pair to pair explains %s of the differences' variance, and was taken out", d.Load,
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
