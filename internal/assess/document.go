package assess

import (
	"fmt"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/service"
)

// Sections are what a report says of the service: its time, the levers on it, the minute second
// by second, then what its database tells.
func (m *Minute) Sections(levers []Lever) []document.Section {
	out := []document.Section{m.time(), leverSection(levers), m.course(), m.policies()}
	if m.Connected {
		out = append(out, document.Titled("Wait events, and what they mean", events(&m.Report)),
			document.Titled("Log", logPairs(&m.Report)))
	}
	return append(out, document.Titled("Not seen", document.Points(m.Report.Missing...)))
}

func (m *Minute) time() document.Section {
	each := "per second"
	if m.Report.Transactions > 0 {
		each = "per transaction"
	}
	b := &document.Bars{Lead: fmt.Sprintf("%s of active time in %s: %s.", m.active("s", 1),
		result.Format(m.Report.Wall, "s"), m.basis()), Full: true,
		Table: &document.Table{Columns: append(document.Headings("part", "share", "95 % interval", each),
			document.Column{Head: "source"})}}
	if m.Service.Why != "" {
		b.Lead += fmt.Sprintf(" %s (process %d) is %s; --service names another.", m.name(), m.Service.PID, m.Service.Why)
	}
	if idle := m.Report.Part(explain.Idle).Share.Value; idle >= 0.005 {
		b.Lead += fmt.Sprintf(" Between transactions, sessions waited for their clients: %s of all session time.",
			result.Share(idle))
	}
	var all document.Bar
	for _, p := range m.Parts() {
		interval := "counted"
		if p.Interval != nil {
			interval = result.Estimate{Value: p.Share, Low: p.Interval[0], High: p.Interval[1]}.Percent().Interval()
		}
		b.Table.Add(document.Text(p.Name.Title()), document.Number(p.Share, result.Share(p.Share)), document.Text(interval),
			document.Text(m.each(p.Each*m.Report.Wall)), document.Text(p.Source))
		all.Segments = append(all.Segments, document.Segment{Class: p.Name.Class(), Name: p.Name.Title(), Value: p.Share,
			Text: result.Share(p.Share)})
	}
	if m.Report.Busy > 0 {
		b.Rows = []document.Bar{all}
	}
	if m.Connected {
		b.Table.Lead = lever.Sentence(evidence(&m.Report))
	}
	return document.Titled("Where its time went", b)
}

// basis says what the account rests on.
func (m *Minute) basis() string {
	if !m.Connected {
		return m.threads() + "; " + m.Why
	}
	working := m.active("", m.Report.Wall) + " active on average"
	if n := m.Report.Transactions; n >= 0 {
		return fmt.Sprintf("%s, %s, %d transactions, %s", sessions(&m.Report), working, n,
			result.Format(float64(n)/m.Report.Wall, "1/s"))
	}
	return sessions(&m.Report) + ", " + working
}

// active writes the active time, over so much, and between which it lies where no session shows its state.
func (m *Minute) active(unit string, over float64) string {
	write := func(v float64) string {
		if unit == "" {
			return fmt.Sprintf("%.1f", v/over)
		}
		return result.Format(v/over, unit)
	}
	most := write(m.Report.Busy)
	if least := write(max(0, m.Report.Busy-m.Report.Untold)); least != most {
		return least + " to " + most
	}
	return most
}

var verdictTones = map[Verdict]document.Tone{Worthwhile: document.Caution, Possible: document.Notice,
	Negligible: document.Good, Settled: document.Good, NotHere: document.Quiet, Undecided: document.Quiet}

func leverSection(levers []Lever) document.Section {
	t := &document.Table{Columns: append(document.Headings("lever", "share", "likely", "at most", "measured"),
		document.Column{Head: "verdict"}),
		Lead: "Shares of active time: the part that the lever touches, the likely saving, and the most it could save."}
	b := &document.Bars{Table: t,
		Lead: "What each lever could save of this service's active time: likely (solid) and at most (pale). The savings overlap, so they " +
			"do not add up."}
	for _, l := range levers {
		none := map[bool]string{true: "nothing to change", false: "unknown"}[l.Verdict == Settled]
		number := func(v *float64) document.Cell {
			if v == nil {
				return document.Text(none)
			}
			return document.Number(*v, result.Share(*v))
		}
		verdict := document.Cell{Text: strings.ReplaceAll(string(l.Verdict), "_", " "), Tone: verdictTones[l.Verdict]}
		row, gain, note := document.Bar{Name: l.Title()}, none, lever.Sentence(l.Reason)
		switch {
		case l.AtMost == nil:
		case l.Likely == nil: // only bounded
			row.Segments = []document.Segment{{Class: "most", Name: "at most", Value: *l.AtMost, Text: result.Share(*l.AtMost),
				Fill: '░'}}
			gain = most(*l.AtMost)
		default:
			row.Segments = []document.Segment{{Class: "likely", Name: "likely", Value: *l.Likely, Text: result.Share(*l.Likely),
				Fill: '█'},
				{Class: "most", Name: "at most", Value: *l.AtMost - *l.Likely, Text: result.Share(*l.AtMost), Fill: '░'}}
			gain = result.Share(*l.Likely) + ", " + most(*l.AtMost)
		}
		if l.Assumes != "" && l.Verdict != Negligible {
			note += " The likely figure assumes that " + l.Assumes + "."
		}
		if l.Owner != "" {
			note += " " + lever.Sentence(l.Owner+" sets it")
		}
		measured := document.Text("not measured")
		if x := l.Experiment; x != nil {
			if x.Gain.Known() {
				measured.Text = x.Gain.Percent().String() + ", " + string(x.Gain.Evidence)
				note += " Measured: " + measured.Text + ". "
			}
			note += " " + lever.Sentence(x.Note)
		}
		row.Ends, row.Notes = []document.Cell{document.Text(gain), verdict}, []document.Line{{Text: note, Tone: document.Quiet}}
		b.Rows = append(b.Rows, row)
		t.Add(document.Text(l.Title()), number(l.Share), number(l.Likely), number(l.AtMost), measured, verdict).Notes = row.Notes
	}
	s := document.Titled("What could be gained", b)
	var next document.Commands
	for _, l := range levers {
		if l.Command != "" && (l.Verdict == Worthwhile || l.Verdict == Possible) {
			next = append(next, document.Command{Why: l.Title(), Line: l.Command})
		}
		if l.Try != "" {
			next = append(next, document.Command{Why: l.Title() + ": test it on this service, in use", Line: l.Try})
		}
	}
	s.Blocks = append(s.Blocks, next)
	return s
}

// threads says what is known of a service's threads.
func (m *Minute) threads() string {
	var last service.Reading
	if n := len(m.Readings); n > 0 {
		last = m.Readings[n-1]
	}
	switch {
	case last.NoQueue != "":
		return "the time of its threads on CPUs; how long they waited for a CPU is not known"
	case last.Sampled:
		return "the time of its threads on CPUs and ready for one, sampled from their states"
	}
	return "the time of its threads on CPUs and ready for one, counted by the kernel"
}
