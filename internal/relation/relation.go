// Package relation puts what a system reports of its CPUs beside what measuring them
// says, as text and as JSON.
package relation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Schema is the version of the JSON document; docs/schema/relation.schema.json
// describes it.
const Schema = 1

// Report is what CPUs share, reported against measured.
type Report struct {
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
	Pairs    []Pair          `json:"pairs"`
	Warnings []string        `json:"warnings"`
}

// Pair is two CPUs.
type Pair struct {
	A        int     `json:"a"`
	B        int     `json:"b"`
	Reported string  `json:"reported"` // siblings, separate or unknown
	Measured string  `json:"measured"` // siblings, separate, time-shared or unknown
	Agree    *bool   `json:"agree"`    // null where either is unknown
	Reason   string  `json:"reason"`   // the signals that decided it
	SlowDown *Figure `json:"slow_down"`
	PingPong *Figure `json:"ping_pong"`
}

// Figure is a number with its interval, null where there is none.
type Figure struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	Unit  string   `json:"unit"`
	N     int      `json:"n"`
}

// relations in the order in which people want to see them.
var relations = []probe.Relation{probe.Siblings, probe.TimeShared, probe.UnknownPair, probe.Separate}

// New makes a report from what the probe of pairs found.
func New(out probe.Outcome, topo *host.Topology, cpus []int) Report {
	r := Report{Schema: Schema, Seconds: out.Seconds, Evidence: result.Measured, Method: out.Method, CPUs: result.OrEmpty(cpus),
		Possible: len(cpus) * (len(cpus) - 1) / 2, Skipped: out.Skipped, Counts: map[string]int{}, Pairs: []Pair{}, Warnings: result.OrEmpty(out.Warnings)}
	told := map[int]bool{}
	for _, c := range topo.CPUs {
		told[c.ID] = c.Siblings.State == host.StateOK
	}
	for _, rel := range relations {
		r.Counts[string(rel)] = 0
	}
	for _, p := range out.Pairs {
		x := Pair{A: p.A, B: p.B, Measured: string(p.Relation), Reported: string(probe.Separate), Reason: p.Reason}
		switch {
		case p.Reported:
			x.Reported = string(probe.Siblings)
		case !told[p.A] || !told[p.B]:
			x.Reported = string(probe.UnknownPair)
		}
		if x.Reported != string(probe.UnknownPair) && x.Measured != string(probe.UnknownPair) {
			agree := x.Reported == x.Measured
			x.Agree = &agree
		}
		for _, m := range out.Measurements {
			switch l := m.Labels; {
			case l.CPUA == nil || l.CPUB == nil || *l.CPUA != p.A || *l.CPUB != p.B:
			case m.Kind == probe.SlowDown:
				x.SlowDown = figure(m)
			case m.Kind == probe.PingPong:
				x.PingPong = figure(m)
			}
		}
		r.Counts[x.Measured]++
		r.Pairs = append(r.Pairs, x)
	}
	slices.SortStableFunc(r.Pairs, func(x, y Pair) int { return x.rank() - y.rank() })
	r.Verdict = r.verdict()
	return r
}

// rank puts first what the system does not tell.
func (p Pair) rank() int {
	at := slices.Index(relations, probe.Relation(p.Measured))
	if p.Agree != nil && !*p.Agree {
		return at - len(relations)
	}
	return at
}

func figure(m result.Measurement) *Figure {
	if !m.Known() {
		return nil
	}
	return &Figure{m.Estimate.Value, result.Finite(m.Estimate.Low), result.Finite(m.Estimate.High), m.Unit, m.Estimate.N}
}

// verdict is the answer in a sentence or two.
func (r Report) verdict() string {
	if r.Skipped != "" {
		return "Not measured: " + r.Skipped + "."
	}
	hidden, invented, reported, dark := 0, 0, 0, 0
	for _, p := range r.Pairs {
		switch {
		case p.Reported == string(probe.Siblings):
			reported++
		case p.Reported == string(probe.UnknownPair):
			dark++
		}
		switch {
		case p.Measured == string(probe.Siblings) && p.Reported != string(probe.Siblings):
			hidden++
		case p.Measured == string(probe.Separate) && p.Reported == string(probe.Siblings):
			invented++
		}
	}
	pairs := func(n int) string { return screen.Count(n, "pair") }
	var parts []string
	if hidden > 0 {
		parts = append(parts, fmt.Sprintf("%s of CPUs share a core, and the system does not say so.", pairs(hidden)))
	}
	if invented > 0 {
		parts = append(parts, fmt.Sprintf("%s of CPUs that are reported as siblings behave like separate cores: what is reported is made up.", pairs(invented)))
	}
	if n := r.Counts[string(probe.TimeShared)]; n > 0 {
		parts = append(parts, fmt.Sprintf("%s of CPUs take turns on one CPU of the host below.", pairs(n)))
	}
	undecided := r.Counts[string(probe.UnknownPair)]
	if len(parts) == 0 && undecided < len(r.Pairs) {
		switch siblings := r.Counts[string(probe.Siblings)]; {
		case dark > 0 && siblings == 0:
			parts = append(parts, "The system does not tell what CPUs share; by measurement no pair that was decided shares a core.")
		case siblings > 0:
			parts = append(parts, fmt.Sprintf("Measurement agrees with what the system reports: %s of CPUs share a core.", pairs(siblings)))
		case reported == 0:
			parts = append(parts, "Measurement agrees with what the system reports: no pair that was decided shares a core.")
		}
	}
	if undecided > 0 {
		parts = append(parts, fmt.Sprintf("What %s of CPUs share is not decided; on a quieter host it may be.", pairs(undecided)))
	}
	return strings.Join(parts, " ")
}

// Document is the report for people.
func (r Report) Document() *document.Document {
	d := &document.Document{Name: "facts", Title: "What CPUs share, reported against measured", Answer: []document.Line{{Text: r.Verdict}},
		About: []string{"What CPUs share, reported against measured."}, Data: r}
	if len(r.Pairs) > 0 {
		d.Sections = append(d.Sections, document.Section{Title: "Pairs of CPUs", Blocks: []document.Block{r.table()}})
	}
	notes := document.List{}
	for _, p := range r.Pairs {
		if p.Measured == string(probe.UnknownPair) {
			text := fmt.Sprintf("CPUs %d and %d", p.A, p.B)
			if n := r.Counts[p.Measured]; n > 1 {
				text = fmt.Sprintf("%s, as one of %d pairs", text, n)
			}
			notes = append(notes, document.Line{Text: "Undecided: " + text + ": " + p.Reason})
			break
		}
	}
	for _, text := range r.Warnings {
		notes = append(notes, document.Line{Text: text, Tone: document.Caution})
	}
	notes = append(notes, document.Line{Text: "The thresholds that tell siblings come from published figures. No host with siblings has confirmed them (no positive control)."})
	d.Sections = append(d.Sections, document.Section{Title: "Notes", Blocks: []document.Block{notes}})
	return d
}

// mostRows is how many pairs a terminal shows.
const mostRows = 24

func (r Report) table() *document.Table {
	t := &document.Table{Columns: document.Headings("CPUs", "reported", "measured", "slow-down", "line", "n"), Most: mostRows,
		Lead: fmt.Sprintf("%d of %s of the CPUs that may be used here, measured in %s. Slow-down: integer work on both at the same time against alone. "+
			"Line: a cache line from one to the other, one way. Brackets hold 95 %% intervals; n counts rounds.",
			len(r.Pairs), screen.Count(r.Possible, "pair"), result.Format(r.Seconds, "s"))}
	for _, p := range r.Pairs {
		n := "-"
		if p.SlowDown != nil {
			n = fmt.Sprint(p.SlowDown.N)
		}
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{document.Text(fmt.Sprintf("%d and %d", p.A, p.B)), document.Text(p.Reported), document.Text(p.Measured),
			document.Text(p.SlowDown.text("%.2f", 1, "x")), document.Text(p.PingPong.text("%.3g", 1e9, " ns")), document.Text(n)}})
	}
	return t
}

// text is a number with its interval: in which format, times what, in which unit.
func (f *Figure) text(format string, scale float64, unit string) string {
	if f == nil {
		return "unknown"
	}
	show := func(v float64) string { return fmt.Sprintf(format, scale*v) }
	if f.Low == nil || f.High == nil {
		return show(f.Value) + unit
	}
	return fmt.Sprintf("%s%s [%s, %s]", show(f.Value), unit, show(*f.Low), show(*f.High))
}
