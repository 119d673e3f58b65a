package effects

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/result"
)

// siblings is the section "smt": whether sharing a core harms threads that take locks.
type siblings struct {
	*analysis.Siblings
	x *result.Experiment
}

// scannerOn says where a scanner runs.
var scannerOn = map[result.Scanner]string{
	result.ScannerSibling: "on the sibling", result.ScannerCore: "on another core", result.ScannerSame: "on the same CPU",
	result.Rotation: "in rotation, all others want the lock",
}

// outcome is the study's.
func (s *siblings) outcome() analysis.Outcome {
	switch s.Decision {
	case analysis.SharingHarms:
		return analysis.Beyond
	case analysis.SharingHarmless:
		return analysis.NoneBeyond
	}
	return analysis.Open
}

// verdict says what was decided, with the figures. It never tells to turn SMT off: physical cores alone
// gave ClickHouse 0.81 to 1.16 times the throughput (its pull request 69548).
func (s *siblings) verdict() []string {
	head := map[analysis.Sharing]string{
		analysis.SharingHarms:      "Sharing a core with a scanner harms threads that take locks here.",
		analysis.SharingHarmless:   "A scanner on the sibling does not harm threads that take locks here.",
		analysis.SharingUntestable: "Untestable: ",
		analysis.SharingOpen:       "Inconclusive: ",
	}[s.Decision] + map[analysis.SharingReason]string{
		analysis.NotInStudy:   "the record lacks the lock thread alone, or beside a scanner on its sibling.",
		analysis.NoSibling:    "this host has no sibling to scan on.",
		analysis.Contaminated: "more than a fifth of the runs are contaminated.",
		analysis.FewRounds:    "too few blocks are complete for an interval.",
		analysis.NoOtherCore:  "without a scanner on another core, the cost of the scan itself is not known.",
		analysis.Alike:        "a scanner on another core costs about as much as one on the sibling.",
		analysis.Undecided:    "an interval holds a limit of the rule.",
	}[s.Reason]
	out := []string{head}
	for _, level := range []result.Scanner{result.ScannerSibling, result.ScannerCore} {
		if b := s.At(level); b != nil && b.Ratio.N > 0 {
			out = append(out, fmt.Sprintf("Beside a scanner %s, the lock thread keeps of its rate: %s.", scannerOn[level],
				percentFigure(b.Ratio)))
		} else if b != nil && b.Absent != "" {
			out = append(out, fmt.Sprintf("A scanner %s: %s.", scannerOn[level], b.Absent))
		}
	}
	return out
}

func (s *siblings) advice() string {
	switch s.Reason {
	case analysis.NoSibling:
		return "Run the study where CPUs are threads of shared cores: on the hypervisor, or on a guest that shows its siblings."
	case analysis.NotInStudy:
		return "Run the built-in study smt, which has both."
	case analysis.Contaminated:
		return "Run it again on a quieter host, or with the guest's CPUs pinned."
	case analysis.FewRounds, analysis.Undecided:
		return "Run it again with more blocks: --blocks 30."
	case analysis.NoOtherCore, analysis.Alike:
		return "More blocks do not help. Look at how much the background work reads, and when."
	}
	if s.Decision == analysis.SharingHarms {
		return "Compare one thread per core, by affinity, with things as they are, under your own load. Both take throughput away."
	}
	return "Keeping scans off the siblings of such threads gains nothing here."
}

func (s *siblings) section(string) document.Section {
	out := document.Section{Title: "Does sharing a core harm threads that take locks?"}
	if s.Alone.Runs == 0 {
		return out // nothing was measured yet
	}
	out.Blocks = document.Lines(document.Quiet, s.advice())
	t := &document.Table{Title: "What the lock thread keeps of its rate, by where the scanner runs",
		Lead: fmt.Sprintf("100 %% is its rate alone; paired within blocks, 95 %% intervals, %s.", s.x.Evidence)}
	t.Columns = append(document.Headings("scanner"), document.Column{Head: "it keeps", Right: true},
		document.Column{Head: "acquisitions", Right: true}, document.Column{Head: "scans", Right: true})
	rate := func(v float64) document.Cell { return document.Text(result.Format(v, "1/s")) }
	t.Add(document.Text("none"), document.Text("100 %"), rate(s.Alone.LockRate), document.Text("-"))
	marked := s.Alone.Contaminated
	for i := range s.Places {
		b := &s.Places[i]
		name := cmp.Or(scannerOn[b.Scanner], string(b.Scanner))
		marked += b.Contaminated
		if b.Absent != "" {
			t.Add(document.Text(name)).Across = b.Absent
			continue
		}
		t.Add(document.Text(name), keeps(b), rate(b.LockRate), rate(b.ScanRate))
	}
	out.Blocks = append(out.Blocks, t)
	if marked > 0 {
		out.Blocks = append(out.Blocks, contaminatedMark)
	}
	text := fmt.Sprintf("Cited, for comparison: in the %d runs that Oks printed in 2005, the scanner's sibling took the lock %.0f to %.0f %% "+
		"as often as the other threads.", s.Cited.Runs, 100*s.Cited.Low, 100*s.Cited.High)
	if s.Rotation.N > 0 {
		text += fmt.Sprintf(" The same rotation here: %s.", percentFigure(s.Rotation))
	}
	class := ""
	if m := s.x.Machine; m != nil && m.Class != "" && m.Victim != nil {
		class = fmt.Sprintf(
			"All of this is about cores of class %s, that of CPU %d: --set workload.victim=N looks from another.", m.Class,
			*m.Victim)
	}
	out.Blocks = append(out.Blocks, document.Lines(document.Quiet, text, class)...)
	return out
}

// keeps is a share in the table; an interval that holds 100 % has no colour, which would claim an effect.
func keeps(b *analysis.Beside) document.Cell {
	if b.Ratio.N == 0 {
		return document.Text("no run")
	}
	n := fmt.Sprintf("n = %d", b.Ratio.N)
	if b.Contaminated > 0 {
		n += fmt.Sprintf(", %d c", b.Contaminated)
	}
	out := document.Text(percent(b.Ratio.Value), between(b.Ratio, percent), n)
	if b.Ratio.High < 1 {
		out.Tone = document.Caution
	}
	return out
}

// percent prints a ratio: "43.1 %".
func percent(v float64) string {
	if math.IsNaN(v) {
		return "unknown"
	}
	return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
}

// percentFigure is a ratio with all that belongs to it.
func percentFigure(e result.Estimate) string {
	return fmt.Sprintf("%s (%s), n = %d", percent(e.Value), between(e, percent), e.N)
}
