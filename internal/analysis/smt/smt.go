// Package smt judges whether a thread that scans memory starves a thread that takes
// locks on the sibling of its core, and whether the caches or the issue slots are to
// blame. It is pure: its input is rates, measured or published.
package smt

import (
	"math"
	"slices"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Decision is the answer for a host.
type Decision string

// The decisions, in the order in which they are tried.
const (
	Untestable Decision = "untestable" // no scanner on a sibling was measured
	// over 20 % of the runs, all or of one cell, are contaminated, or no rule applies
	Inconclusive Decision = "inconclusive"
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
	Moved      Obstacle = "moved"         // the CPUs, more often than others took part of them
	Disturbed  Obstacle = "disturbed"
	FewRounds  Obstacle = "few rounds"
	FewOther   Obstacle = "few rounds on another core"
	Alike      Obstacle = "alike"   // on the sibling and on another core
	Between    Obstacle = "between" // the rule's limits, with its whole interval
	Wide       Obstacle = "wide"    // is an interval, so that it holds a limit
	WideOther  Obstacle = "wide on another core"

	// Those to the cause of harm.
	CellsMarked Obstacle = "cells marked"
	NoControls  Obstacle = "no controls"
	FewSteps    Obstacle = "few rounds by size"
	PortsFree   Obstacle = "ports free" // what keeps them busy costs nothing, so they are not it
)

// The limits of the rule, as ratios of rates.
const (
	harmBelow    = 0.90 // of the rate alone, beside a scanner on the sibling
	harmApart    = 0.95 // of what is left beside a scanner on another core
	cachesBelow  = 0.95 // of the rate beside the ALU loop
	margin       = 0.05 // that does not matter
	contaminated = 0.20 // share of the cells
)

// Input is what a decision needs: natural logarithms of paired ratios, one a round,
// of the lock thread's rate in a cell to its rate alone. A nil slice is a cell that
// this host cannot have or that was not measured.
type Input struct {
	NoSiblings string    // why this host has no sibling to scan on, in a phrase; "": it has, or it is not known
	NoOther    string    // the same of a core to scan on that is not the lock thread's
	Sibling    []float64 // scanner on the sibling
	Other      []float64 // scanner on another core: of the same last-level cache if there is one
	ALU        []float64 // ALU loop on the sibling
	Sweep      []Step    // scanner on the sibling, by size, rising
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
	hides     Obstacle // the cause of harm
}

// Intervals are what a decision rests on.
type Intervals struct {
	Sibling          result.Estimate `json:"sibling"`
	Other            result.Estimate `json:"other"`
	SiblingOverOther result.Estimate `json:"sibling_over_other"`
	ALU              result.Estimate `json:"alu"`
	ScanOverALU      result.Estimate `json:"scan_over_alu"`
	Yield            result.Estimate `json:"yield"`
	grows            result.Estimate // what a scan of twice L2 leaves of what one of half of L1 does
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
		Sibling: Estimate(in.Sibling, alpha), Other: Estimate(in.Other, alpha),
		SiblingOverOther: Ratio(in.Sibling, in.Other, alpha),
		ALU:              Estimate(in.ALU, alpha), ScanOverALU: Ratio(in.Sibling, in.ALU, alpha),
		Yield: Estimate(in.Yield, alpha),
	}}
	if v.Decision, v.Obstacle = v.decide(in); v.Decision == Harm {
		v.Cause, v.hides = v.cause(in, alpha)
	}
	v.Reason = v.reason(in)
	return v
}

// decide tries the decisions in their order.
func (v *Verdict) decide(in Input) (Decision, Obstacle) {
	least, most := v.Sibling.Low, v.Sibling.High
	marked, over := overLimit(in.Marked)
	switch {
	case in.Sibling == nil && in.NoSiblings == "":
		return Untestable, NotInStudy
	case in.Sibling == nil:
		return Untestable, NoSibling
	case over && marked.Moved > marked.Disturbed:
		return Inconclusive, Moved
	case over:
		return Inconclusive, Disturbed
	case !v.Sibling.HasInterval():
		return Inconclusive, FewRounds
	case least >= 1-margin && most <= 1+margin:
		return None, ""
	case most < harmBelow:
		return v.apart(in)
	case least >= harmBelow && most < 1-margin, least > 1+margin:
		return Inconclusive, Between
	}
	return Inconclusive, Wide
}

// apart decides where the scanner on the sibling costs enough for harm: on another core
// it has to cost less.
func (v *Verdict) apart(in Input) (Decision, Obstacle) {
	switch against := v.SiblingOverOther; {
	case in.Other == nil:
		return Inconclusive, NoOther
	case !against.HasInterval():
		return Inconclusive, FewOther
	case against.High < harmApart:
		return Harm, ""
	case against.Low >= harmApart:
		return Inconclusive, Alike
	}
	return Inconclusive, WideOther
}

// cause tells caches from issue slots: the scan has to cost more than a loop that
// fills the ports and leaves the caches alone, and more the larger it is.
func (v *Verdict) cause(in Input, alpha float64) (Cause, Obstacle) {
	if _, over := overLimit(in.CauseMarked); over {
		return Unknown, CellsMarked
	}
	first, middle, last := step(in.Sweep, "half-l1"), step(in.Sweep, "half-l2"), step(in.Sweep, "2xl2")
	if !v.ScanOverALU.HasInterval() || first == nil || middle == nil || last == nil {
		return Unknown, NoControls
	}
	v.grows = Ratio(last, first, alpha)
	l1, l2 := Ratio(middle, first, alpha), Ratio(last, middle, alpha)
	rises := v.grows.High < 1 && l1.Value <= 1 && l2.Value <= 1
	switch {
	case !v.grows.HasInterval():
		return Unknown, FewSteps
	case v.ScanOverALU.High < cachesBelow && rises:
		return Caches, ""
	case !(v.ALU.High < 1):
		return Unknown, PortsFree
	}
	return IssueSlots, ""
}

func step(sweep []Step, name string) []float64 {
	for _, s := range sweep {
		if s.Name == name && s.Ratio != nil {
			return s.Ratio
		}
	}
	return nil
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
