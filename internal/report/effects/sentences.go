package effects

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// claim says what an effect is, by its verdict.
func claim(e *analysis.Effect, base string) string {
	r, of := &e.Response, e.Contrast.String()
	switch {
	case e.Verdict == analysis.Inconclusive && slices.Contains(e.Limits, analysis.Tail):
		return fmt.Sprintf("%s has rare slow runs against %s: the mean of %s is %s (%s), while the typical run differs less",
			of, base,
			label(r), amount(e.Mean.Value, r), span(e.Mean.Low, e.Mean.High, r))
	case e.Verdict == analysis.NoEffect && interaction(e):
		return fmt.Sprintf("%s: the two effects %s; %s", of, combine(r), noDifference)
	case e.Verdict == analysis.NoEffect:
		return fmt.Sprintf("%s makes %s, compared with %s", of, noDifference, base)
	case e.Verdict == analysis.Unresolved:
		return fmt.Sprintf("%s differs from %s, but whether by more than %s is undecided", of, base, size(r.Margin, r))
	case e.Verdict != analysis.CostsMore && e.Verdict != analysis.CostsLess:
		return fmt.Sprintf("%s against %s is inconclusive", of, base)
	}
	does := verdictWord(e)
	if r.Better == "higher" {
		does = "comes out " + does
	}
	switch {
	case interaction(e):
		return fmt.Sprintf("%s %s together than their effects %s to", of, does, combine(r))
	case base == "":
		return of + " " + does
	}
	return fmt.Sprintf("%s %s than %s", of, does, base)
}

// sentence says one effect: what it is, how large, how sure. It has no full stop, which what prints it sets.
func sentence(x *result.Experiment, e *analysis.Effect) string {
	r, base := &e.Response, strings.Join(baselines(x, &e.Contrast), " x ")
	fails, open := slices.Contains(e.Limits, analysis.Survivors), e.Verdict == analysis.Inconclusive
	parts := []string{claim(e, base)}
	switch {
	case math.IsNaN(e.Value):
		if fails {
			parts[0] += ", as " + failingText(e)
		}
		parts[0] += fmt.Sprintf(": no estimate of %s, %s, %s", label(r), sample(e), evidence(x, e))
		parts = append(parts, reasonText(e))
	case fails && open:
		parts[0] = fmt.Sprintf("%s against %s is inconclusive, as %s", e.Contrast, base, failingText(e))
		parts = append(parts, "Of the runs left: "+figure(x, e))
	default:
		parts[0] += ": " + figure(x, e)
		if fails {
			parts[0] += "; and " + failingText(e)
		}
		if slices.Contains(e.Limits, analysis.CarryOver) && !open {
			parts[0] += "; its size is not known, since earlier levels show in the runs"
		}
		if e.Uneven() && !slices.Contains(e.Limits, analysis.Tail) { // whose words have it
			parts[0] += fmt.Sprintf("; the mean %s (%s)", amount(e.Mean.Value, r), span(e.Mean.Low, e.Mean.High, r))
		}
		if open {
			parts = append(parts, reasonText(e))
		}
		if e.Verdict == analysis.NoEffect && e.Unseen > 0 {
			parts = append(parts, fmt.Sprintf("A stall in fewer than 1 of %d runs may have been missed", e.Unseen))
		}
	}
	return strings.TrimSuffix(strings.Join(parts, ". "), ".")
}

// combine is what effects do that do not interact: ratios multiply.
func combine(r *result.Response) string {
	if r.Compare == result.Difference {
		return "add up"
	}
	return "multiply"
}

// interactionLead explains the figures of interactions.
func interactionLead(all []*analysis.Effect) string {
	s := "How the effect of one level changes where the other is set too."
	var ratios, differences bool
	for _, e := range all {
		d := e.Response.Compare == result.Difference
		ratios, differences = ratios || !d, differences || d
	}
	if ratios {
		s += " A percentage is a ratio of two ratios: 0 % means that the two effects multiply."
	}
	if differences {
		s += " A difference of two differences of 0 means that they add up."
	}
	return s
}

// figure is an effect with all that belongs to it: "wall in a typical run +48.2 % (95 % interval +47.1 to +49.3 %),
// n = 10 blocks, measured".
func figure(x *result.Experiment, e *analysis.Effect) string {
	of := ""
	if !interaction(e) && e.Verdict != analysis.NoEffect { // whose words have it
		switch of = " in a typical run"; {
		case e.Student: // of which the value is a mean
			of = " in the mean of runs"
		case paired(x):
			of = " in a typical period"
		}
	}
	return fmt.Sprintf("%s%s %s (%s), %s, %s", label(&e.Response), of, amount(e.Value, &e.Response), intervalText(x, e),
		sample(e),
		evidence(x, e))
}

func intervalText(x *result.Experiment, e *analysis.Effect) string {
	s := span(e.Low, e.High, &e.Response)
	if s == "no interval" {
		return s
	}
	if e.Failing != nil {
		return joint(x, e) + " interval of the runs that ended " + s
	}
	return joint(x, e) + " interval " + s
}

// evidence is never empty: an effect without a label would be taken for measured.
func evidence(x *result.Experiment, e *analysis.Effect) string {
	return cmp.Or(string(e.Evidence), string(x.Evidence), "evidence unknown")
}

// notes are what a reader of an effect has to know beside its figures: its warnings, the
// mean where it is another cost, and the reason of a verdict that is open.
func notes(e *analysis.Effect) []string {
	out := warned(e)
	if e.Failing != nil && e.Primary() { // the answer has said it
		out = slices.DeleteFunc(out, func(w string) bool { return w == failingText(e) })
	}
	if d := e.Adjusted; d != nil && d.Load != "" {
		out = append(out, loadText(d))
	} else if d != nil && d.Moved {
		out = append(out,
			"the CPU time that others took differs at this level, which may be its cause: the interval holds with it "+
				"and without")
	} else if d != nil {
		out = append(out,
			fmt.Sprintf("the CPU time that others took explains %s of the differences' variance, and was taken out",
				percentOf(d.Explained)))
	}
	if e.Uneven() {
		out = append(out, unevenText(e))
	} else if e.Stalls || outside(e) {
		out = append(out, fmt.Sprintf("the mean is %s (%s interval by itself %s): rare slow runs move the mean, but not the "+
			"estimate; expect both",
			amount(e.Mean.Value, &e.Response), confidence(e.Alpha), span(e.Mean.Low, e.Mean.High, &e.Response)))
	}
	if len(e.Limits) == 0 && (e.Verdict == analysis.Unresolved || !e.Primary() && e.Verdict == analysis.Inconclusive) {
		out = append(out, reasonText(e))
	}
	return out
}

// unevenText holds what tells of mean and tail, beside the typical run.
func unevenText(e *analysis.Effect) string {
	r, seen := &e.Response, "rare slow runs move the mean"
	if e.Unequal() {
		seen = "runs scatter unequally (" + chance(e.Scatter) + ")"
	}
	p95 := func(q result.Estimate) string {
		low, high := result.Format(q.Low, r.Unit), result.Format(q.High, r.Unit)
		switch text := result.Format(q.Value, r.Unit); {
		case q.HasInterval():
			return text + " (" + low + " to " + high + ")"
		case !math.IsNaN(q.Low):
			return text + " (" + low + " or more: too few runs for an upper end)"
		case !math.IsNaN(q.High):
			return text + " (" + high + " or less: too few runs for a lower end)"
		default:
			return text + " (no interval: too few runs)"
		}
	}
	return fmt.Sprintf(
		"%s: the typical run changes by %s, the mean by %s (%s); the 95th percentile of runs is %s at the baseline, and "+
			"%s at the level (%s intervals, each by itself)", seen, amount(e.Value, r), amount(e.Mean.Value, r),
		span(e.Mean.Low, e.Mean.High, r),
		p95(e.Base.P95), p95(e.Level.P95), confidence(e.Alpha))
}

// needText says what deciding would take; "" where nothing is missing or known.
func needText(e *analysis.Effect) string {
	if e.Need <= 0 || e.Need <= e.N || e.Reason.Kind == analysis.FewUnits { // whose reason says the same
		return ""
	}
	s := fmt.Sprintf("a verdict on %s takes some %d %s, %d more", size(e.Response.Margin, &e.Response), e.Need,
		cmp.Or(e.Unit, "blocks"), e.Need-e.N)
	if e.NeedSeconds > 0 {
		s += ", " + screen.Lasting(time.Duration(min(e.NeedSeconds, 1e9)*float64(time.Second))) // Duration holds 292 years
	}
	return s
}

// findsText says how small an effect the whole plan finds.
func findsText(e *analysis.Effect) string {
	return fmt.Sprintf("%d %s find an effect of %s in 8 of 10 experiments", e.Planned, e.Unit, size(e.Finds, &e.Response))
}

// aaText says what the pairs of the baseline with itself showed.
func aaText(a *analysis.AA) string {
	if a.N == 0 {
		return label(&a.Response) + ": no noise floor: no pair has a value"
	}
	s := fmt.Sprintf("%s: the baseline against itself %s (%s), n = %d: noise floor %s",
		label(&a.Response), amount(a.Value, &a.Response), span(a.Low, a.High, &a.Response), a.N, within(a.Floor, &a.Response))
	if a.Finds > 0 {
		s += fmt.Sprintf("; the whole plan finds an effect of %s in 8 of 10 experiments", size(a.Finds, &a.Response))
	}
	return s
}

// runsText counts the runs: "30 runs ok, 2 void, 1 failed, 1 warm-up".
func runsText(runs map[result.Status]int) string {
	out := screen.Count(runs[result.OK], "run") + " ok"
	for _, s := range []result.Status{result.Void, result.Failed, result.WarmUp, analysis.FailedWarmUp} {
		if n := runs[s]; n > 0 {
			out += fmt.Sprintf(", %d %s", n, s)
		}
	}
	return out
}

// seenText says when the runs were: "2026-11-29 07:50 to 07:52 UTC".
func seenText(a *analysis.Analysis) string {
	first, last := a.First, a.Last
	if first.IsZero() {
		return "no run yet"
	}
	switch minute := "2006-01-02 15:04"; {
	case first.Format(minute) == last.Format(minute):
		return first.Format(minute + " MST")
	case first.Format(time.DateOnly) == last.Format(time.DateOnly):
		return first.Format(minute) + last.Format(" to 15:04 MST")
	default:
		return first.Format(minute) + last.Format(" to "+minute+" MST")
	}
}

// stateText says how far an experiment came.
func stateText(a *analysis.Analysis) string {
	block := "block"
	if a.Experiment != nil {
		block = a.Experiment.Design.Block()
	}
	s := screen.Count(a.Blocks, "complete "+block)
	if a.Experiment != nil && a.Experiment.Planned() > 0 {
		s += fmt.Sprintf(" of at most %d", a.Experiment.Planned())
	}
	if a.Look > 0 && a.Experiment != nil {
		s += fmt.Sprintf(", look %d of %d", a.Look, len(a.Experiment.Design.Looks))
	}
	ended := map[string]string{"resolved": "ended since all primary effects are decided",
		"looks":  "ended after the last look",
		"budget": "ended since its time was spent", result.Harmed: "stopped to be safe", "": "not ended"}
	if e, ok := ended[a.Ended]; ok {
		return s + "; " + e
	}
	return s + "; ended: " + a.Ended
}

// deciding lists the primary effects, those that ask for action first.
func deciding(a *analysis.Analysis) []*analysis.Effect {
	var out []*analysis.Effect
	for i := range a.Effects {
		if e := &a.Effects[i]; e.Primary() {
			out = append(out, e)
		}
	}
	order := []analysis.Verdict{analysis.CostsMore, analysis.CostsLess, analysis.Unresolved,
		analysis.Inconclusive, analysis.NoEffect}
	slices.SortStableFunc(out, func(a, b *analysis.Effect) int {
		return slices.Index(order, a.Verdict) - slices.Index(order, b.Verdict)
	})
	return out
}

// verdicts are the sentences of the headline, without their full stops: the verdict of the section
// where that decides, else the primary effects, or why there is none.
func verdicts(r *Report) (out []string) {
	own, primary := r.extra(), deciding(r.Analysis)
	if s := harmText(r.Analysis); s != "" {
		out = append(out, s)
	}
	if own.outcome != nil {
		primary = nil
	}
	survivors := func(e *analysis.Effect) bool { return slices.Contains(e.Limits, analysis.Survivors) }
	if s := failing(r.Analysis); s != "" && !slices.ContainsFunc(primary, survivors) {
		out = append(out, s)
	}
	for _, e := range primary {
		if r.Analysis.Ended == result.Harmed && math.IsNaN(e.Value) { // the harm is the answer
			continue
		}
		out = append(out, sentence(r.head(), e))
	}
	switch {
	case len(primary) > 0:
		return out
	case len(own.verdict) > 0:
		for _, s := range own.verdict {
			out = append(out, strings.TrimSuffix(s, "."))
		}
		return out
	case len(r.Analysis.Effects) > 0:
		return append(out, "no verdict: none of the effects is primary")
	}
	return append(out, fmt.Sprintf("no verdict yet: %s, %s", screen.Count(r.Analysis.Blocks,
		"complete "+r.head().Design.Block()),
		runsText(r.Analysis.Runs)))
}

// footnotes explain the intervals, and what the next split plot may do better.
func footnotes(x *result.Experiment, a *analysis.Analysis) []string {
	var first, other *analysis.Effect
	for i := range a.Effects {
		e := &a.Effects[i]
		if e.Primary() && first == nil {
			first = e
		} else if !e.Primary() && other == nil {
			other = e
		}
	}
	var out []string
	if first != nil {
		test := "signed-rank"
		if paired(x) {
			test = "signed-rank randomisation"
		}
		s := fmt.Sprintf("Primary effects: %s intervals, Hodges-Lehmann with the %s test", joint(x, first), test)
		if first.Alpha > 0 && first.Alpha < x.Design.Alpha {
			s += fmt.Sprintf("; they hold for all primary effects and looks together (each alone: %s)", confidence(first.Alpha))
		}
		out = append(out, s+".")
	}
	if other != nil {
		out = append(out, fmt.Sprintf("Secondary effects: %s intervals, not corrected for their number.",
			confidence(other.Alpha)))
	}
	if i := slices.IndexFunc(a.Effects, func(e analysis.Effect) bool { return opposed(&e) }); i >= 0 {
		out = append(out, fmt.Sprintf("A change is estimated within each %s. The medians below it are of all runs; drift "+
			"moves them, here the other way.", unitOf(&a.Effects[i])))
	}
	if _, known := extras[x.Section]; !known {
		for _, n := range a.Notes {
			out = append(out, n+".")
		}
	}
	return out
}
