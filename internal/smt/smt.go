// Package smt judges whether a thread that scans memory starves a thread that takes
// locks on the sibling of its core, and whether the caches or the issue slots are to
// blame. It is pure: its input is rates, measured or published.
package smt

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/stats"
)

// Decision is the answer for a host.
type Decision string

// The decisions, in the order in which they are tried.
const (
	Untestable   Decision = "untestable"   // no sibling was reported or measured
	Inconclusive Decision = "inconclusive" // the A/A is wider than 5 %, or placements moved in over 20 % of cells, or no rule applies
	Harm         Decision = "harm"
	None         Decision = "none"
)

// Cause is what harms.
type Cause string

// The causes.
const (
	Caches     Cause = "caches"
	IssueSlots Cause = "issue slots"
	Unknown    Cause = "unknown" // harm without the controls that would tell
)

// The limits of the rule, as ratios of rates.
const (
	harmBelow    = 0.90 // of the rate alone, beside a scanner on the sibling
	harmApart    = 0.95 // of what is left beside a scanner on another core
	cachesBelow  = 0.95 // of the rate beside the ALU loop
	margin       = 0.05 // that does not matter, and that the A/A may be off by
	contaminated = 0.20 // share of the cells
)

// Input is what a decision needs: natural logarithms of paired ratios, one a round,
// of the lock thread's rate in a cell to its rate alone. A nil slice is a cell that
// this host cannot have or that was not measured.
type Input struct {
	Siblings     bool      // reported or measured
	NoSiblings   string    // why there are none, in a phrase; may be empty
	Sibling      []float64 // scanner on the sibling
	Other        []float64 // scanner on another core: of the same last-level cache if there is one
	ScanOverALU  []float64 // rate beside the scanner over rate beside the ALU loop, both on the sibling
	Sweep        []Step    // scanner on the sibling, by size, rising
	AA           []float64 // the lock alone against its duplicate; nil where nobody ran it, as in published figures
	Yield        []float64 // lock threads on both siblings, each with a lock of its own: their sum over one alone
	Contaminated int       // cells whose placement moved or that others disturbed
	Cells        int
	// Alone and Beside are the lock thread's rates alone, or of the threads on another
	// core, and beside the scanner on the sibling, 1/s; 0: not known.
	Alone, Beside float64
	// Alpha is that of every interval; 0: 0.05.
	Alpha float64
}

// Step is one scan size.
type Step struct {
	Name  string // half-l1, half-l2, 2xl2, 2xllc
	Bytes int64
	Ratio []float64 // one a round, in the order of Input.Sibling
}

// Verdict is a decision with what it rests on. Intervals are of ratios, not of
// logarithms; a zero N is an interval that could not be had.
type Verdict struct {
	Decision                                                 Decision       `json:"decision"`
	Cause                                                    Cause          `json:"cause,omitempty"` // of harm
	Reason                                                   string         `json:"reason"`          // sentences with the figures
	Sibling, Other, SiblingOverOther, ScanOverALU, AA, Yield stats.Interval `json:"-"`
}

// Judge decides by the rule: harm where the sibling keeps less than 90 % of its rate
// and less than 95 % of what it keeps beside a scanner on another core; none where its
// interval lies within 5 % of unharmed.
func Judge(in Input) Verdict {
	alpha := in.Alpha
	if alpha == 0 {
		alpha = 0.05
	}
	v := Verdict{
		Sibling: interval(in.Sibling, alpha), Other: interval(in.Other, alpha), SiblingOverOther: interval(minus(in.Sibling, in.Other), alpha),
		ScanOverALU: interval(in.ScanOverALU, alpha), AA: interval(in.AA, alpha), Yield: interval(in.Yield, alpha),
	}
	v.Decision, v.Reason = v.decide(in)
	if v.Decision == Harm {
		var why string
		v.Cause, why = cause(v.ScanOverALU, in.Sweep, alpha)
		v.Reason += " " + why
	}
	return v
}

// decide tries the decisions in their order.
func (v *Verdict) decide(in Input) (Decision, string) {
	if !in.Siblings || in.Sibling == nil {
		why := in.NoSiblings
		if why == "" {
			why = "no two CPUs are known to share a core"
		}
		return Untestable, strings.Replace("Untestable here: "+why+"."+v.other(), "Beside one on another core it", "Beside a scanner on another core the lock thread", 1)
	}
	beside := fmt.Sprintf("Beside a scanner on its sibling, the lock thread keeps %s of its rate alone%s.", ratio(v.Sibling), throughputs(in))
	sure := known(v.Sibling) && known(v.SiblingOverOther)
	switch {
	case in.AA != nil && !known(v.AA):
		return Inconclusive, "Inconclusive: too few rounds for an interval of the A/A. " + beside + v.other()
	case in.AA != nil && (v.AA.Low < 1-margin || v.AA.High > 1+margin):
		return Inconclusive, fmt.Sprintf("Inconclusive: the lock thread alone, measured twice, differs by more than 5 %% from itself: %s. %s%s", ratio(v.AA), beside, v.other())
	case float64(in.Contaminated) > contaminated*float64(in.Cells):
		return Inconclusive, fmt.Sprintf("Inconclusive: in %d of %d cells the CPUs moved or others took part of them. %s%s", in.Contaminated, in.Cells, beside, v.other())
	case sure && v.Sibling.High < harmBelow && v.SiblingOverOther.High < harmApart:
		return Harm, beside + v.other() + v.yield()
	case known(v.Sibling) && v.Sibling.Low >= 1-margin && v.Sibling.High <= 1+margin:
		return None, beside + v.other() + " Less than 5 % does not matter." + v.yield()
	case !known(v.Sibling):
		return Inconclusive, "Inconclusive: too few rounds for an interval. " + beside + v.other()
	case v.Sibling.High < harmBelow && !known(v.SiblingOverOther):
		return Inconclusive, "Inconclusive: without a scanner on another core, nobody can tell whether sharing the core or the scan as such costs that. " + beside
	case v.Sibling.High < harmBelow:
		return Inconclusive, "Inconclusive: a scanner on another core costs about as much, so that sharing the core may not be the reason. " + beside + v.other()
	}
	return Inconclusive, "Inconclusive: that is neither surely below 90 % nor surely within 5 % of unharmed. " + beside + v.other()
}

// cause tells caches from issue slots: the scan has to cost more than a loop that
// fills the ports and leaves the caches alone, and more the larger it is.
func cause(overALU stats.Interval, sweep []Step, alpha float64) (Cause, string) {
	first, middle, last := step(sweep, "half-l1"), step(sweep, "half-l2"), step(sweep, "2xl2")
	if !known(overALU) || first == nil || middle == nil || last == nil {
		return Unknown, "What it costs through caches and what through issue slots is not known, since there is no ALU loop or no scan by size to compare with."
	}
	grows := interval(minus(last, first), alpha)
	if !known(grows) {
		return Unknown, "What it costs through caches and what through issue slots is not known: there are too few rounds of scans by size."
	}
	l1, l2 := interval(minus(middle, first), alpha), interval(minus(last, middle), alpha)
	rises := grows.High < 1 && l1.Estimate <= 1 && l2.Estimate <= 1
	figures := fmt.Sprintf("against an ALU loop there it keeps %s, and against a scan of half of L1, one of twice L2 leaves %s", ratio(overALU), ratio(grows))
	if overALU.High < cachesBelow && rises {
		return Caches, "The caches are to blame: " + figures + "."
	}
	return IssueSlots, "Issue slots that both threads want are to blame rather than caches: " + figures + "."
}

func step(sweep []Step, name string) []float64 {
	for _, s := range sweep {
		if s.Name == name && s.Ratio != nil {
			return s.Ratio
		}
	}
	return nil
}

// other tells what a scanner on another core costs.
func (v *Verdict) other() string {
	if v.Other.N == 0 {
		return ""
	}
	return fmt.Sprintf(" Beside one on another core it keeps %s.", ratio(v.Other))
}

// yield tells what the second thread of a core is worth.
func (v *Verdict) yield() string {
	if v.Yield.N == 0 {
		return ""
	}
	return fmt.Sprintf(" Lock threads on both siblings, each with a lock of its own, make together %s of what one makes alone.", ratio(v.Yield))
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

// interval estimates a ratio from logarithms: by ranks, and by Student's below the
// rounds that ranks need.
func interval(d []float64, alpha float64) stats.Interval {
	d = slices.DeleteFunc(slices.Clone(d), func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
	if len(d) == 0 {
		return stats.Interval{Estimate: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	iv := stats.HodgesLehmann(d, alpha)
	if len(d) < stats.MinBlocks(alpha) {
		iv = stats.PairedT(d, alpha)
	}
	iv.Estimate, iv.Low, iv.High = math.Exp(iv.Estimate), math.Exp(iv.Low), math.Exp(iv.High)
	return iv
}

func known(iv stats.Interval) bool { return !math.IsNaN(iv.Low) && !math.IsNaN(iv.High) }

// minus pairs rounds; nil where one of the cells was not measured.
func minus(a, b []float64) []float64 {
	if a == nil || b == nil {
		return nil
	}
	var out []float64
	for i := range min(len(a), len(b)) {
		out = append(out, a[i]-b[i])
	}
	return out
}

// ratio writes "12.3 % [10.1, 14.9], n = 15".
func ratio(iv stats.Interval) string {
	percent := func(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*x), ".0") }
	if iv.N == 0 {
		return "an unknown part"
	}
	if !known(iv) {
		return fmt.Sprintf("%s %% (no interval, n = %d)", percent(iv.Estimate), iv.N)
	}
	return fmt.Sprintf("%s %% [%s, %s] (n = %d)", percent(iv.Estimate), percent(iv.Low), percent(iv.High), iv.N)
}
