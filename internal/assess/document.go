package assess

import (
	"fmt"

	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/service"
)

// Sections are what a report says of the service: its time, the levers on it, the minute second
// by second, then what its database tells.
func (m *Minute) Sections(levers []lever.Lever) []document.Section {
	gained := lever.Sections(levers, true)
	m.serverSteps(&gained[len(gained)-1], m.First(levers))
	out := append([]document.Section{m.time(), m.endings(), m.limitsOf(), m.crossed(), m.serverSection()}, gained...)
	out = append(out, m.blockers(), m.statements(), m.course(), m.policies())
	if m.Connected {
		out = append(out, document.Titled("Wait events, and what they mean", events(&m.Report)),
			document.Titled("Log", logPairs(&m.Report)))
	}
	if m.Scheduler != nil {
		out = append(out, m.Scheduler.Sections()...)
	}
	return append(out, document.Titled("Not seen", document.Points(m.Report.Missing...)))
}

func (m *Minute) time() document.Section {
	each := "per second"
	if m.Report.Transactions > 0 {
		each = "per transaction"
	}
	wall := result.Format(m.Report.Wall, "s")
	b := &document.Bars{Lead: fmt.Sprintf("%s of active time in these %s: %s.", m.active("s", 1), wall, m.basis()), Full: true,
		Table: &document.Table{Columns: append(document.Headings("part", "share", "95 % interval", each),
			document.Column{Head: "source"})}}
	b.Lead += m.chosen()
	if idle := m.Report.Part(explain.Idle).Share.Value; idle >= 0.005 {
		b.Lead += fmt.Sprintf(" Between transactions, sessions waited for their clients: %s of all session time.",
			result.Share(idle))
	}
	for _, p := range m.Parts() {
		interval := "counted"
		if p.Interval != nil {
			interval = result.Estimate{Value: p.Share, Low: p.Interval[0], High: p.Interval[1]}.Percent().Interval()
		}
		b.Table.Add(document.Text(p.Name.Title()), document.Number(p.Share, result.Share(p.Share)), document.Text(interval),
			document.Text(m.each(p.Each*m.Report.Wall)), document.Text(p.Source))
	}
	if m.Report.Busy > 0 {
		b.Rows = []document.Bar{m.bar()}
	}
	if m.Connected {
		b.Table.Lead = lever.Sentence(evidence(&m.Report)) + " "
	}
	b.Table.Lead += fmt.Sprintf("Intervals tell of these %s alone: other times may differ.", wall)
	return document.Titled("Where its time went", b)
}

// basis says what the account rests on.
func (m *Minute) basis() string {
	if !m.Connected {
		return m.threads() + "; " + m.Why
	}
	working := m.active("", m.Report.Wall) + " active on average"
	if n := m.Report.Transactions; n >= 0 {
		return fmt.Sprintf("%s, %s, %d transactions, %s", inMean(&m.Report), working, n,
			result.Format(float64(n)/m.Report.Wall, "1/s"))
	}
	return inMean(&m.Report) + ", " + working
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
