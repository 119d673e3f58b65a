package analysis

import (
	"maps"
	"math"
	"slices"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Sharing is whether a scanner on the sibling of a lock thread's core harms that thread.
type Sharing string

const (
	SharingUntestable Sharing = "untestable" // no scanner on a sibling was measured
	SharingOpen       Sharing = "inconclusive"
	SharingHarms      Sharing = "harm"
	SharingHarmless   Sharing = "none"
)

// SharingReason is what keeps from harm or none.
type SharingReason string

// The reasons, in the order in which they are tried.
const (
	NotInStudy   SharingReason = "not_in_study" // a scanner on the sibling, or the lock thread alone
	NoSibling    SharingReason = "no_sibling"   // of this host
	Contaminated SharingReason = "contaminated" // more than a fifth of the runs
	FewRounds    SharingReason = "few_rounds"
	NoOtherCore  SharingReason = "no_other_core" // that was measured
	Alike        SharingReason = "alike"         // on the sibling and on another core
	Undecided    SharingReason = "undecided"     // an interval holds a limit
)

// The limits of the rule, as ratios of rates.
const (
	harmBelow   = 0.90 // of the rate alone, beside a scanner on the sibling
	harmApart   = 0.95 // of what is left beside a scanner on another core
	sharingNone = 0.05 // that does not matter
	mostMarked  = 0.20 // share of the runs that are contaminated
)

// Siblings is what the section "smt" shows: what the lock thread of the workload scanlock keeps of
// its rate beside a scanner, by where that runs.
type Siblings struct {
	Name     string        `json:"name"`
	Decision Sharing       `json:"decision"`
	Reason   SharingReason `json:"reason,omitempty"`
	Alone    Beside        `json:"alone"`
	Places   []Beside      `json:"places"` // of the scanner, in the study's order
	// SiblingOverCore is what a scanner on the sibling leaves of what one on another core does.
	SiblingOverCore result.Estimate `json:"sibling_over_core"`
	// Rotation is what the scanner's sibling gets of the mean of the others, as in the published program.
	Rotation result.Estimate `json:"rotation"`
	Cited    Published       `json:"cited"`
}

// Beside is one level of the scanner.
type Beside struct {
	Scanner      result.Scanner  `json:"scanner"`
	Ratio        result.Estimate `json:"ratio"`     // of the lock thread's rate to that alone
	LockRate     float64         `json:"lock_rate"` // median, 1/s; NaN: not known
	ScanRate     float64         `json:"scan_rate"`
	Runs         int             `json:"runs"`
	Contaminated int             `json:"contaminated"`
	Absent       string          `json:"absent,omitempty"` // why this host does not have it
}

// Published is the least and the greatest share that the lock thread on the scanner's sibling had of the
// mean of the others in printed runs.
type Published struct {
	Source string  `json:"source"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Runs   int     `json:"runs"`
}

// published are the printed runs of Oks' program, which a test has whole.
var published = Published{"Oks, Be aware: To Hyper or not to Hyper, 2005", 722554 / ((10550011 + 11182506) / 2.0),
	1297138 / ((9900899 + 8984095) / 2.0), 4}

// NewSiblings reads a record of the workload scanlock.
func NewSiblings(x *result.Experiment, runs []result.Run) *Siblings {
	s := &Siblings{Name: "smt", Rotation: result.Unknown(), SiblingOverCore: result.Unknown(), Cited: published}
	i := slices.IndexFunc(x.Factors, func(f result.Factor) bool {
		return slices.Contains(f.Levels, string(result.NoScanner))
	})
	if i < 0 {
		s.Decision, s.Reason = SharingUntestable, NotInStudy
		return s
	}
	factor, alpha := &x.Factors[i], x.Design.Alpha
	if !(alpha > 0 && alpha < 1) {
		alpha = NominalAlpha
	}
	read := func(response string, level result.Scanner) map[int]float64 {
		return rounds(x, runs, response, factor.Name, string(level))
	}
	alone := read("lock_rate", result.NoScanner)
	beside := func(level result.Scanner) Beside {
		kept := read("lock_rate", level)
		b := Beside{Scanner: level, Ratio: estimateLogs(pairs(kept, alone), alpha), LockRate: medianOf(kept),
			ScanRate: medianOf(read("scan_rate", level))}
		for _, run := range runs {
			if x.Cells[run.Cell].Levels[factor.Name] == string(level) {
				b.Runs++
				if run.Contaminated != "" {
					b.Contaminated++
				}
			}
		}
		return b
	}
	s.Alone = beside(result.NoScanner)
	for _, level := range factor.Levels {
		if level != string(result.NoScanner) {
			s.Places = append(s.Places, beside(result.Scanner(level)))
		}
	}
	for _, a := range x.Absent {
		if a.Factor == factor.Name {
			s.Places = append(s.Places, Beside{Scanner: result.Scanner(a.Level), Ratio: result.Unknown(), LockRate: math.NaN(),
				ScanRate: math.NaN(), Absent: a.Reason})
		}
	}
	s.SiblingOverCore = estimateLogs(pairs(read("lock_rate", result.ScannerSibling), read("lock_rate", result.ScannerCore)),
		alpha)
	s.Rotation = estimateLogs(slices.Sorted(maps.Values(read("sibling_share", result.Rotation))), alpha)
	s.Decision, s.Reason = s.decide()
	return s
}

// At is the level of a scanner; nil: neither measured nor left out.
func (s *Siblings) At(level result.Scanner) *Beside {
	for i := range s.Places {
		if s.Places[i].Scanner == level {
			return &s.Places[i]
		}
	}
	return nil
}

// decide: harm where the sibling keeps less than 90 % of its rate and less than 95 % of what it
// keeps beside a scanner on another core; none where its interval lies within 5 % of unharmed.
func (s *Siblings) decide() (Sharing, SharingReason) {
	sibling, core := s.At(result.ScannerSibling), s.At(result.ScannerCore)
	runs, marked := 0, 0
	for _, b := range append([]Beside{s.Alone}, s.Places...) {
		runs, marked = runs+b.Runs, marked+b.Contaminated
		if b.Scanner != result.Rotation && b.Scanner != result.ScannerSame &&
			float64(b.Contaminated) > mostMarked*float64(b.Runs) {
			return SharingOpen, Contaminated
		}
	}
	switch {
	case sibling == nil:
		return SharingUntestable, NotInStudy
	case sibling.Absent != "":
		return SharingUntestable, NoSibling
	case float64(marked) > mostMarked*float64(runs):
		return SharingOpen, Contaminated
	case !sibling.Ratio.HasInterval():
		return SharingOpen, FewRounds
	case sibling.Ratio.Low >= 1-sharingNone && sibling.Ratio.High <= 1+sharingNone:
		return SharingHarmless, ""
	case !(sibling.Ratio.High < harmBelow):
		return SharingOpen, Undecided
	case core == nil || core.Absent != "":
		return SharingOpen, NoOtherCore
	case !s.SiblingOverCore.HasInterval():
		return SharingOpen, FewRounds
	case s.SiblingOverCore.High < harmApart:
		return SharingHarms, ""
	case s.SiblingOverCore.Low >= harmApart:
		return SharingOpen, Alike
	}
	return SharingOpen, Undecided
}

// rounds are the means of a rate's logarithms at a level, by block. Where other factors vary too, each of their levels
// counts the same, and a block that lacks one of them is left out.
func rounds(x *result.Experiment, runs []result.Run, response, factor, level string) map[int]float64 {
	means := BlockMeans(x, runs, &result.Response{Name: response, Compare: result.Ratio})
	out, count, cells := map[int]float64{}, map[int]int{}, 0
	for i, c := range x.Cells {
		if c.Levels[factor] != level {
			continue
		}
		cells++
		for b, v := range means[i] {
			out[b] += v
			count[b]++
		}
	}
	maps.DeleteFunc(out, func(b int, _ float64) bool { return count[b] < cells })
	for b := range out {
		out[b] /= float64(cells)
	}
	return out
}

// medianOf is that of a rate, from its logarithms.
func medianOf(logs map[int]float64) float64 {
	return math.Exp(stats.Median(slices.Collect(maps.Values(logs))))
}

// leastStudent is how many rounds Student's interval takes: as many as were published.
// Of two or three it reaches from nothing to thousands of percent.
const leastStudent = 4

// estimateLogs estimates a ratio from its logarithms: by ranks,
// and by Student's below the rounds that ranks need; of fewer than four there is no
// interval. N is 0 where there are none.
func estimateLogs(d []float64, alpha float64) result.Estimate {
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
