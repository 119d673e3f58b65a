// Package smt judges whether a thread that scans memory starves a thread that takes
// locks on the sibling of its core, and whether the caches or the issue slots are to
// blame. It is pure: its input is rates, measured or published.
package smt

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Decision is the answer for a host.
type Decision string

// The decisions, in the order in which they are tried.
const (
	Untestable   Decision = "untestable"   // no scanner on a sibling was measured
	Void         Decision = "void"         // the A/A of the record says that no effect can be separated from it
	Inconclusive Decision = "inconclusive" // the A/A is wider than 5 %, or over 20 % of the runs, all or of one cell, are contaminated, or no rule applies
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

// Obstacle is what keeps from harm or none, so that advice can fit it.
type Obstacle string

// The obstacles.
const (
	NoSibling  Obstacle = "no sibling"    // of this host
	NotInStudy Obstacle = "not in study"  // a scanner on the sibling
	NoOther    Obstacle = "no other core" // that was measured
	Noise      Obstacle = "noise"         // of the lock thread alone
	NoAA       Obstacle = "no A/A"        // so that the noise is not known
	Moved      Obstacle = "moved"         // the CPUs, more often than others took part of them
	Disturbed  Obstacle = "disturbed"
	FewRounds  Obstacle = "few rounds"
	Alike      Obstacle = "alike"   // on the sibling and on another core
	Between    Obstacle = "between" // the rule's limits, with its whole interval
	Wide       Obstacle = "wide"    // is an interval, so that it holds a limit
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
	Published  bool      // published figures without an A/A, which is not required then
	Void       string    // why the whole record is void, in sentences; "": it is not
	NoSiblings string    // why this host has no sibling to scan on, in a phrase; "": it has, or it is not known
	NoOther    string    // the same of a core to scan on that is not the lock thread's
	Sibling    []float64 // scanner on the sibling
	Other      []float64 // scanner on another core: of the same last-level cache if there is one
	ALU        []float64 // ALU loop on the sibling
	Sweep      []Step    // scanner on the sibling, by size, rising
	AA         []float64 // the lock alone against its duplicate; nil where it was not run
	Yield      []float64 // lock threads on both siblings, each with a lock of its own: their sum over one alone
	// Marked counts the contaminated runs of the whole record and of each cell that the
	// decision rests on, CauseMarked those of the other cells that the cause rests on.
	Marked, CauseMarked []Marked
	// Alone and Beside are the lock thread's rates alone, or of the threads on another
	// core, and beside the scanner on the sibling, 1/s; 0: not known.
	Alone, Beside float64
	// Alpha is that of every interval; 0: 0.05.
	Alpha float64
}

// Marked counts runs that count although they were contaminated, as often as they were
// made again.
type Marked struct {
	Cell      string // the level, as the study has it; "": all cells together
	Runs      int
	Moved     int // the CPUs moved between the probes around the run
	Disturbed int // others took part of the CPUs
}

// over reports whether they are too many.
func (m Marked) over() bool { return float64(m.Moved+m.Disturbed) > contaminated*float64(m.Runs) }

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

// overLimit is the first of the counts that is too large, and whether there is one.
func overLimit(list []Marked) (Marked, bool) {
	i := slices.IndexFunc(list, Marked.over)
	if i < 0 {
		return Marked{}, false
	}
	return list[i], true
}

// Step is one scan size.
type Step struct {
	Name  string    // half-l1, half-l2, 2xl2, 2xllc
	Ratio []float64 // one a round, in the order of Input.Sibling
}

// Verdict is a decision with what it rests on. Intervals are of ratios, not of
// logarithms; what could not be had is unknown.
type Verdict struct {
	Decision  Decision `json:"decision"`
	Cause     Cause    `json:"cause"`  // of harm; else ""
	Obstacle  Obstacle `json:"-"`      // to harm and none; else ""
	Reason    string   `json:"reason"` // sentences with the figures
	Intervals `json:"intervals"`
}

// Intervals are what a decision rests on.
type Intervals struct {
	Sibling          result.Estimate `json:"sibling"`
	Other            result.Estimate `json:"other"`
	SiblingOverOther result.Estimate `json:"sibling_over_other"`
	ALU              result.Estimate `json:"alu"`
	ScanOverALU      result.Estimate `json:"scan_over_alu"`
	AA               result.Estimate `json:"aa"`
	Yield            result.Estimate `json:"yield"`
}

// Judge decides by the rule: harm where the sibling keeps less than 90 % of its rate
// and less than 95 % of what it keeps beside a scanner on another core; none where its
// interval lies within 5 % of unharmed.
func Judge(in Input) Verdict {
	alpha := in.Alpha
	if alpha == 0 {
		alpha = 0.05
	}
	v := Verdict{Intervals: Intervals{
		Sibling: Estimate(in.Sibling, alpha), Other: Estimate(in.Other, alpha), SiblingOverOther: Ratio(in.Sibling, in.Other, alpha),
		ALU: Estimate(in.ALU, alpha), ScanOverALU: Ratio(in.Sibling, in.ALU, alpha), AA: Estimate(in.AA, alpha), Yield: Estimate(in.Yield, alpha),
	}}
	v.Decision, v.Obstacle, v.Reason = v.decide(in)
	if v.Decision == Harm {
		var why string
		v.Cause, why = v.cause(in, alpha)
		v.Reason += " " + why
	}
	return v
}

// decide tries the decisions in their order.
func (v *Verdict) decide(in Input) (Decision, Obstacle, string) {
	if in.Sibling == nil {
		other := v.other("a scanner", "the lock thread")
		if in.NoSiblings == "" {
			return Untestable, NotInStudy, "Not tested: the study measures no scanner on a sibling, neither scan@sibling nor scan-2xl2@sibling." + other
		}
		return Untestable, NoSibling, "Untestable here: " + in.NoSiblings + "." + other + v.doubts(in, other)
	}
	beside := fmt.Sprintf("Beside a scanner on its sibling, the lock thread keeps %s of its rate alone%s.", ratio(v.Sibling), throughputs(in))
	rest := beside + v.other("one", "it")
	least, most := v.Sibling.Low, v.Sibling.High
	marked, over := overLimit(in.Marked)
	switch {
	case in.Void != "":
		return Void, Noise, "Void, so nothing is decided. " + in.Void + " " + rest
	case in.AA == nil && !in.Published:
		return Inconclusive, NoAA, "Inconclusive: the study did not measure the lock thread alone twice (aa = false), so how far this host differs from itself is unknown. " + rest
	case !in.Published && !v.AA.HasInterval():
		return Inconclusive, FewRounds, "Inconclusive: too few rounds for an interval of the A/A. " + rest
	case v.noisy():
		return Inconclusive, Noise, "Inconclusive: " + v.noise() + ". " + rest
	case over:
		why := Disturbed
		if marked.Moved > marked.Disturbed {
			why = Moved
		}
		return Inconclusive, why, fmt.Sprintf("Inconclusive: %s. %s", marked, rest)
	case !v.Sibling.HasInterval():
		return Inconclusive, FewRounds, "Inconclusive: too few rounds for an interval. " + rest
	case least >= 1-margin && most <= 1+margin:
		return None, "", rest + " Less than 5 % does not matter." + v.yield()
	case most < harmBelow:
		return v.apart(in, beside)
	case least >= harmBelow && most < 1-margin, least > 1+margin:
		return Inconclusive, Between, "Inconclusive: the whole interval is above 90 % and not within 5 % of unharmed, of which the rule says nothing. " + rest
	}
	return Inconclusive, Wide, "Inconclusive: the interval is neither wholly below 90 % nor wholly within 5 % of unharmed. " + rest
}

// noisy reports whether the A/A leaves more than the margin open.
func (v *Verdict) noisy() bool {
	return v.AA.HasInterval() && (v.AA.Low < 1-margin || v.AA.High > 1+margin)
}

// noise says how the lock thread differs from itself, or may.
func (v *Verdict) noise() string {
	differs := "may differ"
	if v.AA.High < 1-margin || v.AA.Low > 1+margin {
		differs = "differs"
	}
	return fmt.Sprintf("the lock thread alone, measured twice, %s by more than 5 %% from itself: %s", differs, ratio(v.AA))
}

// doubts says of a figure that decides nothing why it is worth little.
func (v *Verdict) doubts(in Input, figure string) string {
	switch {
	case figure == "":
		return ""
	case in.Void != "":
		return " That figure is void. " + in.Void
	}
	var why []string
	if in.AA == nil && !in.Published {
		why = append(why, "the lock thread alone was not measured twice (aa = false)")
	}
	if v.noisy() {
		why = append(why, v.noise())
	}
	if marked, over := overLimit(in.Marked); over {
		why = append(why, marked.String())
	}
	if len(why) == 0 {
		return ""
	}
	return " That figure is inconclusive: " + strings.Join(why, "; ") + "."
}

// apart decides where the scanner on the sibling costs enough for harm: on another core
// it has to cost less.
func (v *Verdict) apart(in Input, beside string) (Decision, Obstacle, string) {
	rest := beside + v.other("one", "it")
	switch {
	case in.Other == nil:
		why := ""
		if in.NoOther != "" {
			why = " (" + in.NoOther + ")"
		}
		if v.ALU.N > 0 {
			beside += fmt.Sprintf(" Beside an ALU loop there, which touches no memory, it keeps %s.", ratio(v.ALU))
		}
		return Inconclusive, NoOther, "Inconclusive: without a scanner on another core" + why + ", it is unknown whether sharing the core or the scan as such costs that. " + beside + v.yield()
	case !v.SiblingOverOther.HasInterval():
		return Inconclusive, FewRounds, "Inconclusive: too few rounds that have a scanner on another core too. " + rest
	case v.SiblingOverOther.High < harmApart:
		return Harm, "", rest + v.yield()
	case v.SiblingOverOther.Low >= harmApart:
		return Inconclusive, Alike, "Inconclusive: a scanner on another core costs about as much, so that sharing the core may not be the reason. " + rest
	}
	return Inconclusive, Wide, fmt.Sprintf("Inconclusive: a scanner on another core may cost as much: against that it keeps %s. %s", ratio(v.SiblingOverOther), rest)
}

// cause tells caches from issue slots: the scan has to cost more than a loop that
// fills the ports and leaves the caches alone, and more the larger it is.
func (v *Verdict) cause(in Input, alpha float64) (Cause, string) {
	const unknown = "What it costs through caches and what through issue slots is not known"
	if marked, over := overLimit(in.CauseMarked); over {
		return Unknown, unknown + ": " + marked.String() + "."
	}
	first, middle, last := step(in.Sweep, "half-l1"), step(in.Sweep, "half-l2"), step(in.Sweep, "2xl2")
	if !v.ScanOverALU.HasInterval() || first == nil || middle == nil || last == nil {
		return Unknown, unknown + ": there is no ALU loop or no scan by size to compare with."
	}
	grows, l1, l2 := Ratio(last, first, alpha), Ratio(middle, first, alpha), Ratio(last, middle, alpha)
	if !grows.HasInterval() {
		return Unknown, unknown + ": there are too few rounds of scans by size."
	}
	rises := grows.High < 1 && l1.Value <= 1 && l2.Value <= 1
	figures := fmt.Sprintf("against an ALU loop there it keeps %s, and against a scan of half of L1, one of twice L2 leaves %s", ratio(v.ScanOverALU), ratio(grows))
	switch {
	case v.ScanOverALU.High < cachesBelow && rises:
		return Caches, "The caches are to blame: " + figures + "."
	case !(v.ALU.High < 1): // what keeps the ports busy costs nothing, so they are not it
		return Unknown, fmt.Sprintf("%s: an ALU loop there, which only wants issue slots, is not seen to cost anything (%s), and the scan does not cost more the larger it is, as it would through caches (%s).",
			unknown, ratio(v.ALU), ratio(grows))
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

// Ratio estimates that of two cells from the logarithms of their rates, round by round.
func Ratio(level, base []float64, alpha float64) result.Estimate {
	return Estimate(minus(level, base), alpha)
}

// leastStudent is how many rounds Student's interval takes: as many as were published.
// Of two or three it reaches from nothing to thousands of percent.
const leastStudent = 4

// Estimate estimates a ratio from its logarithms, of which it leaves NaN out: by ranks,
// and by Student's below the rounds that ranks need; of fewer than four there is no
// interval. N is 0 where there are none.
func Estimate(d []float64, alpha float64) result.Estimate {
	d = slices.DeleteFunc(slices.Clone(d), func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
	if len(d) == 0 {
		return result.Unknown()
	}
	iv := stats.HodgesLehmann(d, alpha)
	switch {
	case len(d) < leastStudent:
		iv.Low, iv.High = math.NaN(), math.NaN()
	case len(d) < stats.MinBlocks(alpha):
		iv = stats.PairedT(d, alpha)
	}
	return iv.Map(math.Exp)
}

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
