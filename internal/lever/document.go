package lever

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

var tones = map[Verdict]document.Tone{Worthwhile: document.Caution, Possible: document.Notice,
	Negligible: document.Good, NotHere: document.Quiet, Unknown: document.Quiet}

// Cell is a verdict in a table that can be sorted by it.
func (v Verdict) Cell() document.Cell {
	return document.Cell{Text: strings.ReplaceAll(string(v), "_", " "), Tone: tones[v],
		Sort: float64(1 + slices.Index(Verdicts, v))}
}

var sources = map[Source]string{OfMinute: "Minute: ", OfProbe: "Probe: ", OfChecks: "Checks: ",
	OfExperiment: "Experiment: ",
	OfSimulation: "Simulation: "}

// Anchor names a lever's row.
func (l *Lever) Anchor() string { return "lever-" + l.Name }

// Sections show levers, and what to type about them. Those of a service are drawn, too.
func Sections(levers []Lever, ofService bool) []document.Section {
	heads := []string{"at most", "measured"}
	if ofService {
		heads = []string{"likely", "at most", "measured"}
	}
	t := &document.Table{Columns: append(document.Headings("lever", heads...), document.Column{Head: "evidence"},
		document.Column{Head: "verdict"}),
		Lead: "For each lever: the most that it could save, what was measured (with 95 % intervals), and the evidence for the verdict."}
	b := &document.Bars{Table: t,
		Lead: "What each lever could save of this service's active time: likely (solid) and at most (pale). The savings overlap, so they " +
			"do not add up."}
	for i := range levers {
		l := &levers[i]
		cells := []document.Cell{document.Text(l.Title()), l.Most(), l.measured(),
			document.Text(cmp.Or(string(l.Kind()), "none")), l.Verdict.Cell()}
		if ofService {
			cells = slices.Insert(cells, 1, l.likely())
		}
		row := t.Add(cells...)
		row.Anchor, row.Notes = l.Anchor(), l.notes()
		if ofService {
			b.Rows = append(b.Rows, l.bar(row.Notes))
		}
	}
	out := document.Titled("Levers", t)
	if ofService {
		out = document.Titled("What could be gained", b)
	}
	next := document.Section{Title: nextTitle}
	for i := range levers {
		if l := &levers[i]; l.Verdict != Negligible { // nobody is sent to gain nothing
			next.Blocks = append(next.Blocks, l.steps()...)
		}
	}
	return []document.Section{out, next}
}

// nextTitle is where all steps stand.
const nextTitle = "What to do next"

// share is a figure, or why there is none.
func (l *Lever) share(v *float64) document.Cell {
	if v == nil {
		return document.Text(l.none())
	}
	return document.Number(*v, result.Share(*v))
}

// likely is a gain, as far as it is shown. What is worthwhile is beyond the margin, however much it is.
func (l *Lever) likely() document.Cell {
	switch {
	case l.Estimate == nil || l.Likely != nil:
	case l.Verdict == Worthwhile:
		return document.Text("over " + Percent(Margin))
	default:
		return document.Text("unknown")
	}
	return l.share(l.Likely)
}

// Rows are levers for other programs; what is not known is empty.
func Rows(levers []Lever) *document.Table {
	t := &document.Table{Columns: document.Columns{}.Names("lever", "verdict", "likely, share", "at most, share", "of",
		"what shows it", "next step")}
	share := func(v *float64) document.Cell {
		if v == nil {
			return document.Text("")
		}
		return document.Number(*v, result.Share(*v))
	}
	for i := range levers {
		l := &levers[i]
		most := l.AtMost
		if !l.Bounded() {
			most = nil
		}
		t.Add(document.Text(l.Name), document.Text(string(l.Verdict)), share(l.Likely), share(most),
			document.Text(l.Of), document.Text(l.Why()), document.Text(cmp.Or(l.Next.Command, l.Next.Note)))
	}
	return t
}

// Most is the limit of a gain.
func (l *Lever) Most() document.Cell {
	if l.AtMost != nil && !l.Bounded() {
		return document.Number(*l.AtMost, "not measured")
	}
	return l.share(l.AtMost)
}

// none says why there is no figure.
func (l *Lever) none() string {
	if l.Reason == Settled {
		return "nothing to change"
	}
	return "unknown"
}

// measured is what an experiment has given, else what a probe measured.
func (l *Lever) measured() document.Cell {
	for _, e := range l.Evidence {
		if e.Source == OfExperiment && e.Gains() {
			return document.Text(e.Gain.Percent().String() + ", " + string(e.Kind))
		}
	}
	m := l.Measurement()
	if !known(m) {
		return document.Text("not measured")
	}
	c := Cell(m)
	if m.Kind == probe.Efficiency {
		c.Text += " per CPU" // no title says what a speed-up is divided by
	}
	c.More = append(c.More, "n "+Independent(m), "noise "+Floor(m))
	return c
}

// notes say what each source knows.
func (l *Lever) notes() (out []document.Line) {
	for _, e := range l.Evidence {
		if e.Text != "" {
			out = append(out, document.Line{Text: sources[e.Source] + Sentence(e.Text)})
		}
		if e.Source == OfMinute && l.Assumes != "" && l.Likely != nil && l.Verdict != Negligible {
			out = append(out, document.Line{Text: "The likely figure assumes that " + l.Assumes + ".", Tone: document.Quiet})
		}
		// Why there is no bound is said, unless the evidence has said it.
		if b := e.Bound; b != nil && b.Of != "" && (b.AtMost != nil || e.Text == "" || known(e.Measurement)) {
			out = append(out, document.Line{Text: b.words(l.Reason), Tone: document.Quiet})
		}
		see := slices.Clone(e.Findings)
		if e.Measurement != nil {
			see = append(see, e.Measurement.Name)
		}
		if len(see) > 0 {
			out = append(out, document.Line{Text: "See:", Tone: document.Quiet, See: see})
		}
	}
	if l.Owner != "" {
		out = append(out, document.Line{Text: Sentence(l.Owner + " sets it, not this host"), Tone: document.Quiet})
	}
	return out
}

// words say what a bound is a share of, what would give it, and, where it was not measured, how it is known.
func (b *Bound) words(r Reason) string {
	if b.AtMost == nil {
		return "The bound is unknown: " + b.Why + "."
	}
	s := "At most " + Percent(*b.AtMost) + " of "
	if *b.AtMost > 0.99 && *b.AtMost < 1 {
		s = "At most nearly all (over 99 %) of "
	}
	s += b.Of
	if b.By != "" {
		s += ", by " + b.By
		if r == Recommended {
			s += ", not by the recommended setting"
		}
	}
	if b.From != Measured {
		s += " (" + string(b.From) + ")"
	}
	return s + ": " + b.Why + "."
}

func (l *Lever) bar(notes []document.Line) document.Bar {
	row, gain := document.Bar{Name: l.Title(), Notes: notes}, l.none()
	switch {
	case l.AtMost == nil:
	case l.Of != ActiveTime:
		gain = "of other time"
	case l.Likely == nil: // only bounded
		row.Segments = []document.Segment{{Class: "most", Name: "at most", Value: *l.AtMost, Text: result.Share(*l.AtMost),
			Fill: '░'}}
		gain = l.limit()
	default:
		row.Segments = []document.Segment{
			{Class: "likely", Name: "likely", Value: *l.Likely, Text: result.Share(*l.Likely), Fill: '█'},
			{Class: "most", Name: "at most", Value: *l.AtMost - *l.Likely, Text: result.Share(*l.AtMost), Fill: '░'}}
		gain = result.Share(*l.Likely) + ", " + l.limit()
	}
	row.Ends = []document.Cell{document.Text(gain), l.Verdict.Cell()}
	return row
}

func (l *Lever) steps() (out []document.Block) {
	switch why := strings.TrimSuffix(upperFirst(l.Title())+": "+l.Next.Note, ": "); {
	case l.Next.Command != "":
		out = append(out, document.Commands{{Why: why, Line: l.Next.Command}})
	case l.Next.Note != "":
		out = append(out, document.Line{Text: why})
	}
	if l.Try != "" {
		out = append(out, document.Commands{{Line: l.Try, Why: upperFirst(l.Title()) +
			": test it on this service, in use; that takes hours, " +
			"or 10 minutes with --quick"}})
	}
	return out
}

// limit writes the limit of a gain, which is not below a tenth of a per cent.
func (l *Lever) limit() string {
	if !l.Bounded() {
		return "limit not measured"
	}
	return "at most " + result.Share(max(*l.AtMost, 0.001))
}

// Cell is a known estimate with its interval.
func Cell(m *result.Measurement) document.Cell {
	e := *m.Estimate
	e.Unit = m.Unit
	return document.Number(e.Value, e.Text(), cmp.Or(e.Interval(), "no interval"))
}

// Independent is the n of a table: "24", or "122 of 5000" where the real count of
// operations is larger than the number of independent ones that they are worth.
func Independent(m *result.Measurement) string {
	if all := m.Labels.Commits; all != 0 && all != m.Estimate.N {
		return fmt.Sprintf("%d of %d", m.Estimate.N, all)
	}
	return fmt.Sprint(m.Estimate.N)
}
