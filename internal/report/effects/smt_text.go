package effects

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/analysis/smt"
	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/result"
)

func (s *smtSection) section(key string) document.Section {
	out := document.Section{Title: "Does sharing a core harm threads that take locks?"}
	if len(s.Cells) == 0 || s.Alone.Medians[smt.LockRate] == 0 {
		return out // nothing was measured yet
	}
	out.Blocks = document.Lines(document.Quiet, s.rates(), s.advice(),
		fmt.Sprintf("All figures are %s; brackets are 95 %% intervals, each by itself.", s.x.Evidence))
	out.Blocks = append(out.Blocks, s.placements())
	if f, ok := s.sweep(key + "-smt-sweep"); ok {
		out.Blocks = append(out.Blocks, document.Figure{Figure: f})
	}
	if len(s.others) > 0 {
		out.Blocks = append(out.Blocks, s.responses())
	}
	marked := s.Alone.Marked
	for i := range s.Cells {
		marked += s.Cells[i].Marked
	}
	if s.Rotating != nil {
		marked += s.Rotating.Marked
	}
	if marked > 0 {
		out.Blocks = append(out.Blocks, contaminatedMark)
	}
	out.Blocks = append(out.Blocks, document.Lines(document.Quiet, s.classes(), s.published())...)
	return out
}

// published sets what the author printed beside what the same program did here.
func (s *smtSection) published() string {
	cited := s.Cited[0]
	text := fmt.Sprintf("For comparison, cited: in the %d runs that Oks printed (\"Be aware: To Hyper or not to Hyper\", 2005; "+
		"two cores of two threads, a scan of 1 MiB, all others want one lock), the lock thread on the scanner's sibling took the "+
		"lock %.0f to %.0f %% as often as the other lock threads did on average.",
		cited.Runs, 100*cited.Low, 100*cited.High)
	text += fmt.Sprintf(" The rule of this verdict calls those runs %s.", cited.Decision)
	if s.Rotation.N > 0 {
		text += fmt.Sprintf(" The same rotation here, %s: %s.", s.x.Evidence, percentFigure(s.Rotation))
	}
	return text
}

// classes says on a hybrid host that both threads were on cores of one class; "" on
// others.
func (s *smtSection) classes() string {
	own, victim := s.x.Context["class"], s.x.Context["victim"]
	if own == "" {
		return ""
	}
	var all []string
	other := "N"
	for _, key := range slices.Sorted(maps.Keys(s.x.Context)) {
		if name, ok := strings.CutPrefix(key, classKey); ok {
			all = append(all, fmt.Sprintf("%s (CPUs %s)", name, s.x.Context[key]))
			if cpus, err := host.ParseList(s.x.Context[key]); err == nil && len(cpus) > 0 && name != own {
				other = strconv.Itoa(cpus[0])
			}
		}
	}
	text := "The cores here are of several classes"
	if len(all) > 1 {
		text += ": " + strings.Join(all, ", ")
	}
	return text + fmt.Sprintf(". At sibling, core, other LLC and socket both threads are on cores of class %s, that of %s, so the "+
		"verdict is about this class only; the rotation takes all of them. --set workload.victim=%s looks from another class, and a "+
		"level such as scan@%s puts the scanner on one.",
		own, victim, other, other)
}

// outcome is the study's.
func (s *smtSection) outcome() analysis.Outcome {
	switch s.Decision {
	case smt.Harm:
		return analysis.Beyond
	case smt.None:
		return analysis.NoneBeyond
	}
	return analysis.Open
}

// verdict says what was decided and why, with the figures.
func (s *smtSection) verdict() []string {
	v := &s.Verdict
	head := ""
	switch v.Decision {
	case smt.Harm:
		by := map[smt.Cause]string{smt.Caches: "through the caches", smt.IssueSlots: "through the issue slots"}[v.Cause]
		head = "Sharing a core harms threads that take locks here, " + cmp.Or(by, "by what is not known") + "."
	case smt.None:
		head = "A scanner on the sibling does not harm threads that take locks here."
	case smt.Untestable, smt.Inconclusive: // the reason says so first
		return []string{v.Reason}
	}
	return []string{head, v.Reason}
}

// advice says what to try. It never tells to turn SMT off: physical cores alone gave
// ClickHouse 0.81 to 1.16 times the throughput (its pull request 69548).
func (s *smtSection) advice() string {
	const compare = "Try one thread per core by affinity for the database, which needs no reboot, against SMT off and against " +
		"things as they are, under your own load: each of the two takes throughput away as well. Physical cores alone gave another " +
		"database 0.81 to 1.16 times the throughput (cited: ClickHouse, pull request 69548)."
	switch s.Decision {
	case smt.Harm:
		return compare
	case smt.None:
		if together := s.Yield; together.N > 0 && together.High < 1 {
			return "Keeping scans away from the siblings of such threads gains nothing here. Two of them on one core make less than one " +
				"alone, though. " + compare
		}
		return "Keeping scans away from the siblings of threads that take locks gains nothing here. Other work may still gain or " +
			"lose by sharing cores: run it at as many threads as there are CPUs and as there are cores."
	}
	switch s.Obstacle {
	case smt.NoSibling:
		return "To know what siblings do, run the study where this host's CPUs are threads of shared cores: on the hypervisor, or on " +
			"a guest that shows its siblings."
	case smt.NotInStudy:
		return "To know what siblings do, run the built-in study smt, or add the level scan@sibling to this one: where the sibling " +
			"is, hostlab finds out itself."
	case smt.NoOther:
		if s.absent["core"] == "" {
			return "To tell what the scan costs from what sharing costs, run the built-in study smt, or add the level scan@core to this one."
		}
		return "More blocks do not help here. That the scan takes throughput is measured, and why is not: decide by both rates. What " +
			"a loop without memory takes, the shared core takes. A machine of the same model with more cores can tell the rest."
	case smt.Alike:
		return "More blocks do not help: the scan takes its share of memory or of a cache from wherever it runs, and moving it to " +
			"another core would not mend that. Look at how much the work in the background reads, and when."
	case smt.Between:
		return "More blocks do not help: both figures above are what there is to decide by. Weigh them under your own load."
	case smt.Moved:
		return "Before you change anything, have the guest's CPUs pinned to the host's, or measure on the host itself, and run it " +
			"again: it is unknown which CPUs these figures are about."
	case smt.Disturbed:
		return "Before you change anything, run it again on a quieter host, or at a quieter time."
	}
	return "Before you change anything, run it again with more blocks (--blocks 30)."
}

// rates are the throughputs of both, without and with sharing; "" where they are not
// in the record.
func (s *smtSection) rates() string {
	var acquisitions, scans []string
	add := func(list *[]string, c *smtCell, r *result.Response, where string) {
		if r != nil && c != nil {
			if v, ok := c.Medians[r.Name]; ok && !math.IsNaN(v) {
				*list = append(*list, result.Format(v, r.Unit)+" "+where)
			}
		}
	}
	add(&acquisitions, &s.Alone, s.lockRate, "alone")
	for i, c := range []*smtCell{s.scanner("sibling"), s.scanner("core", "llc", "socket")} {
		if c != nil {
			on := "on " + placeOf(c.Place).on
			who := map[bool]string{true: "with it ", false: "with the scanner "}[i > 0 && len(scans) > 0]
			add(&acquisitions, c, s.lockRate, who+on)
			add(&scans, c, s.scanRate, on)
		}
	}
	if acquisitions == nil {
		return ""
	}
	text := "Acquisitions: " + strings.Join(acquisitions, ", ") + "."
	if scans != nil {
		text += " Scans: " + strings.Join(scans, ", ") + "."
	}
	return text + " Medians."
}

// scanner is the cell of the first of the placements that the host has, with the
// scan that the verdict is about.
func (s *smtSection) scanner(places ...string) *smtCell {
	for _, p := range places {
		var found *smtCell
		for i := range s.Cells {
			c := &s.Cells[i]
			if c.Place == p && c.Antagonist == "scan" && c.Ratio.N > 0 && (found == nil || c.main && !found.main) {
				found = c
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// placements is the table of ratios.
func (s *smtSection) placements() *document.Table {
	t := &document.Table{Title: "What the lock thread keeps of its rate, by what runs beside it and where",
		Lead: "100 % is its rate alone; paired within blocks, with 95 % intervals, each by itself."}
	columns := s.columns()
	t.Columns = document.Headings("beside it")
	for _, p := range columns {
		t.Columns = append(t.Columns, document.Column{Head: s.title(p), Right: true})
	}
	for _, row := range s.rows() {
		cells := []document.Cell{document.Text(row)}
		for _, p := range columns {
			cells = append(cells, s.at(row, p).text())
		}
		t.Add(cells...)
	}
	if lines := s.rotatingLines(); len(lines) > 0 {
		t.Add(document.Text("rotating " + s.Rotating.row())).Across = strings.Join(lines, "; ")
	}
	return t
}

// responses is the table of everything else that was measured.
func (s *smtSection) responses() *document.Table {
	t := &document.Table{Title: "What both threads did", Lead: "Medians of the blocks."}
	t.Columns = document.Headings("placement")
	for i := range s.others {
		t.Columns = append(t.Columns, document.Column{Head: label(&s.others[i]), Right: true})
	}
	const noValue = "-"
	gaps := false
	add := func(name string, c *smtCell) {
		row := []string{name}
		for _, o := range s.others {
			if v, ok := c.Medians[o.Name]; ok {
				row = append(row, result.Format(v, o.Unit))
			} else {
				row, gaps = append(row, noValue), true
			}
		}
		t.Add(document.Texts(row...)...)
	}
	add("alone", &s.Alone)
	for i := range s.Cells {
		add(s.title(s.Cells[i].Place)+", "+s.Cells[i].row(), &s.Cells[i])
	}
	if s.Rotating != nil {
		add("rotating, "+s.Rotating.row(), s.Rotating)
	}
	if gaps {
		t.Lead += " " + noValue + ": nothing to measure there."
	}
	return t
}
