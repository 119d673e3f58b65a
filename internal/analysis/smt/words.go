package smt

import (
	"fmt"
	"strings"

	"hostlab/internal/result"
)

// reason says in sentences, with the figures, why the verdict is what it is.
func (v *Verdict) reason(in Input) string {
	switch v.Obstacle {
	case NotInStudy:
		return "Not tested: the study measures no scanner on a sibling, neither scan@sibling nor scan-2xl2@sibling." +
			v.other("a scanner", "the lock thread")
	case NoSibling:
		other := v.other("a scanner", "the lock thread")
		return "Untestable here: " + in.NoSiblings + "." + other + v.doubts(in, other)
	}
	beside := fmt.Sprintf("Beside a scanner on its sibling, the lock thread keeps %s of its rate alone%s.", ratio(v.Sibling),
		throughputs(in))
	rest := beside + v.other("one", "it")
	switch v.Decision {
	case None:
		return rest + " Less than 5 % does not matter." + v.yield()
	case Harm:
		return rest + v.yield() + " " + v.blame(in)
	}
	if v.Obstacle == NoOther {
		why := ""
		if in.NoOther != "" {
			why = " (" + in.NoOther + ")"
		}
		if v.ALU.N > 0 {
			beside += fmt.Sprintf(" Beside an ALU loop there, which touches no memory, it keeps %s.", ratio(v.ALU))
		}
		return "Inconclusive: without a scanner on another core" + why +
			", it is unknown whether sharing the core or the scan as such costs that. " + beside + v.yield()
	}
	marked, _ := overLimit(in.Marked)
	return "Inconclusive: " + map[Obstacle]string{
		Moved:     marked.String(),
		Disturbed: marked.String(),
		FewRounds: "too few rounds for an interval",
		FewOther:  "too few rounds that have a scanner on another core too",
		Between:   "the whole interval is above 90 % and not within 5 % of unharmed, of which the rule says nothing",
		Wide:      "the interval is neither wholly below 90 % nor wholly within 5 % of unharmed",
		Alike:     "a scanner on another core costs about as much, so that sharing the core may not be the reason",
		WideOther: "a scanner on another core may cost as much: against that it keeps " + ratio(v.SiblingOverOther),
	}[v.Obstacle] + ". " + rest
}

// blame says what harms.
func (v *Verdict) blame(in Input) string {
	figures := fmt.Sprintf("against an ALU loop there it keeps %s, and against a scan of half of L1, one of twice L2 leaves %s",
		ratio(v.ScanOverALU), ratio(v.grows))
	switch v.Cause {
	case Caches:
		return "The caches are to blame: " + figures + "."
	case IssueSlots:
		return "Issue slots that both threads want are to blame rather than caches: " + figures + "."
	}
	marked, _ := overLimit(in.CauseMarked)
	return "What it costs through caches and what through issue slots is not known: " + map[Obstacle]string{
		CellsMarked: marked.String(),
		NoControls:  "there is no ALU loop or no scan by size to compare with",
		FewSteps:    "there are too few rounds of scans by size",
		PortsFree: fmt.Sprintf("an ALU loop there, which only wants issue slots, is not seen to cost anything (%s), and the scan "+
			"does not cost more the larger it is, as it would through caches (%s)",
			ratio(v.ALU), ratio(v.grows)),
	}[v.hides] + "."
}

// String tells what happened, and to how many.
func (m Marked) String() string {
	text := fmt.Sprintf("%d of %d runs", m.Moved+m.Disturbed, m.Runs)
	if m.Cell != "" {
		text += " of the cell " + m.Cell
	}
	var parts []string
	if m.Moved > 0 {
		parts = append(parts, fmt.Sprintf("in %d the CPUs moved", m.Moved))
	}
	if m.Disturbed > 0 {
		parts = append(parts, fmt.Sprintf("in %d others took part of them", m.Disturbed))
	}
	return text + " are contaminated, more than a fifth: " + strings.Join(parts, ", ")
}

// doubts says of a figure that decides nothing why it is worth little.
func (v *Verdict) doubts(in Input, figure string) string {
	marked, over := overLimit(in.Marked)
	if figure == "" || !over {
		return ""
	}
	return " That figure is inconclusive: " + marked.String() + "."
}

// other tells what a scanner on another core costs.
func (v *Verdict) other(scanner, keeper string) string {
	if v.Other.N == 0 {
		return ""
	}
	return fmt.Sprintf(" Beside %s on another core %s keeps %s.", scanner, keeper, ratio(v.Other))
}

// yield tells what the second thread of a core is worth.
func (v *Verdict) yield() string {
	if v.Yield.N == 0 {
		return ""
	}
	return fmt.Sprintf(" Lock threads on both siblings, each with a lock of its own, make together %s of what one makes alone.",
		ratio(v.Yield))
}

// throughputs are the rates that ratios are made of.
func throughputs(in Input) string {
	if in.Alone <= 0 || in.Beside <= 0 {
		return ""
	}
	return fmt.Sprintf(": %s of %s acquisitions/s", rate(in.Beside), rate(in.Alone))
}

func rate(x float64) string {
	switch {
	case x >= 1e6:
		return fmt.Sprintf("%.3g million", x/1e6)
	case x >= 1e3:
		return fmt.Sprintf("%.3g thousand", x/1e3)
	}
	return fmt.Sprintf("%.3g", x)
}

// ratio writes "12.3 % [10.1, 14.9], n = 15".
func ratio(iv result.Estimate) string {
	percent := func(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*x), ".0") }
	if iv.N == 0 {
		return "an unknown part"
	}
	if !iv.HasInterval() {
		return fmt.Sprintf("%s %% (no interval, n = %d)", percent(iv.Value), iv.N)
	}
	return fmt.Sprintf("%s %% [%s, %s] (n = %d)", percent(iv.Value), percent(iv.Low), percent(iv.High), iv.N)
}
