package probe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// PairsReport holds what CPUs share, reported against measured;
// docs/schema/relation.schema.json describes its JSON.
type PairsReport struct {
	Kind     string          `json:"kind"`
	Schema   int             `json:"schema"`
	Tool     string          `json:"hostlab"`
	Host     string          `json:"host"`
	Started  time.Time       `json:"started"`
	Seconds  float64         `json:"seconds"`
	Evidence result.Evidence `json:"evidence"`
	Method   string          `json:"method"`
	CPUs     []int           `json:"cpus"`
	Possible int             `json:"possible_pairs"` // of these CPUs
	Skipped  string          `json:"skipped,omitempty"`
	Verdict  string          `json:"verdict"`
	Counts   map[string]int  `json:"counts"` // relation -> pairs that were measured to be so
	Pairs    []ReportedPair  `json:"pairs"`
	Warnings []string        `json:"warnings"`
}

// ReportedPair holds what is reported and what was measured of two CPUs.
type ReportedPair struct {
	A        int             `json:"a"`
	B        int             `json:"b"`
	Reported Relation        `json:"reported"` // never time-shared
	Measured Relation        `json:"measured"`
	Agree    *bool           `json:"agree"`  // null where either is unknown
	Reason   string          `json:"reason"` // the signals that decided it
	SlowDown result.Estimate `json:"slow_down"`
	PingPong result.Estimate `json:"ping_pong"`
}

// relationOrder lists what matters to a reader first.
var relationOrder = []Relation{Siblings, TimeShared, UnknownPair, Separate}

// NewPairsReport reports what the probe of pairs found.
func NewPairsReport(out Outcome, topo *host.Topology, cpus []int) PairsReport {
	r := PairsReport{Kind: "pairs", Schema: 1, Seconds: out.Seconds, Evidence: result.Measured, Method: out.Method,
		CPUs:     cpus,
		Possible: len(cpus) * (len(cpus) - 1) / 2, Skipped: out.Skipped, Counts: map[string]int{}, Warnings: out.Warnings}
	known := map[int]bool{}
	for _, c := range topo.CPUs {
		known[c.ID] = c.Siblings.State == host.StateOK
	}
	for _, rel := range relationOrder {
		r.Counts[string(rel)] = 0
	}
	for _, p := range out.Pairs {
		x := ReportedPair{A: p.A, B: p.B, Measured: p.Relation, Reported: Separate, Reason: p.Reason,
			SlowDown: p.SlowDown, PingPong: p.PingPong}
		switch {
		case p.Reported:
			x.Reported = Siblings
		case !known[p.A] || !known[p.B]:
			x.Reported = UnknownPair
		}
		if x.Reported != UnknownPair && x.Measured != UnknownPair {
			agree := x.Reported == x.Measured
			x.Agree = &agree
		}
		r.Counts[string(x.Measured)]++
		r.Pairs = append(r.Pairs, x)
	}
	slices.SortStableFunc(r.Pairs, func(x, y ReportedPair) int { return x.rank() - y.rank() })
	r.Verdict = r.verdict()
	return r
}

// rank puts first what disagrees with the system.
func (p ReportedPair) rank() int {
	at := slices.Index(relationOrder, p.Measured)
	if p.Agree != nil && !*p.Agree {
		return at - len(relationOrder)
	}
	return at
}

// verdict is the answer in a sentence or two.
func (r PairsReport) verdict() string {
	if r.Skipped != "" {
		return "Not measured: " + r.Skipped + "."
	}
	hidden, invented, reported, dark := 0, 0, 0, 0
	for _, p := range r.Pairs {
		switch p.Reported {
		case Siblings:
			reported++
		case UnknownPair:
			dark++
		}
		switch {
		case p.Measured == Siblings && p.Reported != Siblings:
			hidden++
		case p.Measured == Separate && p.Reported == Siblings:
			invented++
		}
	}
	pairs := func(n int) string { return screen.Count(n, "pair") }
	var parts []string
	if hidden > 0 {
		parts = append(parts, fmt.Sprintf("%s of CPUs share a core, and the system does not say so.", pairs(hidden)))
	}
	if invented > 0 {
		parts = append(parts, fmt.Sprintf("%s of CPUs are reported as siblings, but behave like separate cores.",
			pairs(invented)))
	}
	if n := r.Counts[string(TimeShared)]; n > 0 {
		parts = append(parts, fmt.Sprintf("%s of CPUs take turns on one CPU of the host below.", pairs(n)))
	}
	undecided := r.Counts[string(UnknownPair)]
	if len(parts) == 0 && undecided < len(r.Pairs) {
		switch siblings := r.Counts[string(Siblings)]; {
		case dark > 0 && siblings == 0:
			parts = append(parts, "The system does not report what CPUs share; by measurement no decided pair shares a core.")
		case siblings > 0:
			parts = append(parts, fmt.Sprintf("Measurement agrees with the system: %s of CPUs share a core.", pairs(siblings)))
		case reported == 0:
			parts = append(parts, "Measurement agrees with the system: no decided pair shares a core.")
		}
	}
	if undecided > 0 {
		parts = append(parts, fmt.Sprintf("%s of CPUs stay undecided; repeat on a quieter host.", pairs(undecided)))
	}
	return strings.Join(parts, " ")
}

// Between says in one line whether some CPUs share a core with others. "No" takes all pairs of them.
func (r PairsReport) Between(some, others []int) string {
	if r.Skipped != "" {
		return "Shared core: not measured, " + r.Skipped + "."
	}
	var joined []ReportedPair
	for _, p := range r.Pairs {
		if p.joins(some, others) {
			joined = append(joined, p)
		}
	}
	if len(joined) == 0 {
		return "Shared core: not measured on any of these pairs of CPUs."
	}
	// relationOrder has what is not known before what is separate
	slices.SortStableFunc(joined, func(a, b ReportedPair) int {
		return slices.Index(relationOrder, a.Measured) - slices.Index(relationOrder, b.Measured)
	})
	p, all := joined[0], len(some)*len(others)
	answer := map[Relation]string{Siblings: "yes", Separate: "no",
		TimeShared: "no, but one CPU of the host below runs both in turn"}[p.Measured]
	switch {
	case answer == "":
		answer = "undecided (" + p.Reason + ")"
	case p.Measured == Separate && len(joined) < all:
		answer = fmt.Sprintf("no on the %d of %s that were tried", len(joined), screen.Count(all, "pair"))
	}
	return fmt.Sprintf(
		"Shared core: %s. CPUs %d and %d: integer work takes %s as long on both as alone; a cache line takes %s; the system "+
			"reports: %s.", answer, p.A, p.B, p.SlowDown.Brief(), p.PingPong.Brief(), p.Reported)
}

func (p ReportedPair) joins(some, others []int) bool {
	return slices.Contains(some, p.A) && slices.Contains(others, p.B) || slices.Contains(some, p.B) &&
		slices.Contains(others, p.A)
}

// Document is the report for people.
func (r PairsReport) Document() *document.Document {
	d := &document.Document{Name: "facts", Title: "What CPUs share, reported against measured",
		Answer: []document.Line{{Text: r.Verdict}},
		About:  []string{"What CPUs share, reported against measured."}, Data: r}
	d.Sections = []document.Section{document.Titled("Pairs of CPUs", r.table())}
	notes := document.List{}
	for _, p := range r.Pairs {
		if p.Measured == UnknownPair {
			text := fmt.Sprintf("CPUs %d and %d", p.A, p.B)
			if n := r.Counts[string(p.Measured)]; n > 1 {
				text = fmt.Sprintf("%s, as one of %d pairs", text, n)
			}
			notes = append(notes, document.Line{Text: "Undecided: " + text + ": " + p.Reason})
			break
		}
	}
	for _, text := range r.Warnings {
		notes = append(notes, document.Line{Text: text, Tone: document.Caution})
	}
	notes = append(notes,
		document.Line{Text: "The thresholds for siblings come from published figures. No host with siblings has " +
			"confirmed them (no positive control)."})
	d.Sections = append(d.Sections, document.Section{Title: "Notes", Blocks: []document.Block{notes}})
	return d
}

// mostRows is how many pairs a terminal shows.
const mostRows = 24

func (r PairsReport) table() *document.Table {
	t := &document.Table{Columns: document.Headings("CPUs", "reported", "measured", "slow-down", "line", "n"),
		Most: mostRows,
		Lead: fmt.Sprintf(
			"%d of %s of the CPUs that may be used here, measured in %s. Slow-down: integer work on both at the same "+
				"time against alone. Line: a cache line from one to the other, one way. Brackets hold 95 %% intervals; n counts rounds.",
			len(r.Pairs), screen.Count(r.Possible, "pair"), result.Format(r.Seconds, "s"))}
	t.Columns[3].Unit, t.Columns[4].Unit = "ratio", "s"
	for _, p := range r.Pairs {
		n := "-"
		if p.SlowDown.Known() {
			n = fmt.Sprint(p.SlowDown.N)
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{document.Text(fmt.Sprintf("%d and %d", p.A, p.B)),
			document.Text(string(p.Reported)), document.Text(string(p.Measured)),
			document.Number(p.SlowDown.Value, p.SlowDown.Brief()), document.Number(p.PingPong.Value, p.PingPong.Brief()),
			document.Text(n)}})
	}
	return t
}
