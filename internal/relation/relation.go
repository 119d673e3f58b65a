// Package relation puts what a system reports of its CPUs beside what measuring them
// says, as text and as JSON.
package relation

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

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
	named := map[string]result.Measurement{}
	for _, m := range out.Measurements {
		named[m.Name] = m
	}
	told := map[int]bool{}
	for _, c := range topo.CPUs {
		told[c.ID] = c.Siblings.State == host.StateOK
	}
	for _, rel := range relations {
		r.Counts[string(rel)] = 0
	}
	for _, p := range out.Pairs {
		x := Pair{A: p.A, B: p.B, Measured: p.Relation, Reported: string(probe.Separate), Reason: p.Reason}
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
		key := fmt.Sprintf("cpu%d-cpu%d", p.A, p.B)
		x.SlowDown, x.PingPong = figure(named["siblings.slowdown."+key]), figure(named["siblings.pingpong."+key])
		r.Counts[p.Relation]++
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

// mostRows is how many pairs the text has.
const mostRows = 24

// Write writes the report as text.
func (r Report) Write(w io.Writer, width int) error {
	t := screen.NewPrinter(w, width, false)
	t.Text("", "", "What CPUs share, reported against measured")
	t.Raw("")
	t.Text("  ", "", r.Verdict)
	if len(r.Pairs) > 0 {
		t.Raw("")
		r.table(t)
		t.Raw("")
		t.Text("  ", "", fmt.Sprintf("%d of %s of the CPUs that may be used here, measured in %s. Slow-down: integer work on both at the same time against alone. "+
			"Line: a cache line from one to the other, one way. Brackets hold 95 %% intervals; n counts rounds.",
			len(r.Pairs), screen.Count(r.Possible, "pair"), result.Format(r.Seconds, "s")))
	}
	for _, p := range r.Pairs {
		if p.Measured == string(probe.UnknownPair) {
			text := fmt.Sprintf("CPUs %d and %d", p.A, p.B)
			if n := r.Counts[p.Measured]; n > 1 {
				text = fmt.Sprintf("%s, as one of %d pairs", text, n)
			}
			t.Hang("  Undecided: ", "", text+": "+p.Reason)
			break
		}
	}
	for _, text := range r.Warnings {
		t.Hang("  Note: ", "", text)
	}
	t.Hang("  Note: ", "", "the thresholds that tell siblings come from published figures; no host with siblings was at hand to confirm them (no positive control).")
	return t.Err()
}

func (r Report) table(t *screen.Printer) {
	line := func(cells ...any) { t.Raw(fmt.Sprintf("  %-11v %-8v %-11v %-20v %-20v %3v", cells...)) }
	line("CPUs", "reported", "measured", "slow-down", "line", "n")
	for i, p := range r.Pairs {
		if i == mostRows {
			t.Raw(fmt.Sprintf("  and %s more: --format json has all", screen.Count(len(r.Pairs)-mostRows, "pair")))
			return
		}
		n := "-"
		if p.SlowDown != nil {
			n = fmt.Sprint(p.SlowDown.N)
		}
		line(fmt.Sprintf("%d and %d", p.A, p.B), p.Reported, p.Measured, p.SlowDown.text("%.2f", 1, "x"), p.PingPong.text("%.3g", 1e9, " ns"), n)
	}
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
