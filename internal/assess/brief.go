package assess

import (
	"cmp"
	"fmt"
	"slices"

	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Brief is what one screen shows of the service: where its time went, what could be gained and what to do next, at most
// so many of each. check is what to type for the commands of checks.
func (m *Minute) Brief(levers []lever.Lever, most int, check string) []document.Section {
	first := m.First(levers)
	gained := lever.Brief(levers, first, most, check, m.shows)
	next := &gained[len(gained)-1]
	m.serverSteps(next, first)
	if m.blind() && m.Why != "" {
		next.Blocks = slices.Insert(next.Blocks, 0, document.Block(document.Line{Text: "To see what it waits for: " + letIn}))
	}
	next.Blocks = next.Blocks[:min(max(1, most), lever.MostSteps, len(next.Blocks))]
	return append([]document.Section{m.whole(most > 0)}, gained...)
}

// serverSteps adds what to do in the server to what to do next: before all else if that is first.
func (m *Minute) serverSteps(next *document.Section, first string) {
	for _, f := range m.Server() {
		step := document.Line{Text: "In the server: " + f.Step}
		if f.Elsewhere {
			step.Text = lever.Sentence(f.Step)
		}
		switch {
		case f.Step == "":
		case f.Parameter == first:
			next.Blocks = slices.Insert(next.Blocks, 0, document.Block(step))
		default:
			next.Blocks = append(next.Blocks, step)
		}
	}
}

// Tells are sentences on what its server tells of its settings, and on who held its locks.
func (m *Minute) Tells() (says []string) {
	for _, f := range m.Server() {
		says = append(says, lever.Sentence(f.Text))
	}
	if held := m.held(); held != "" {
		says = append(says, lever.Sentence(held))
	}
	return says
}

// whole is its time as one bar, and why it was watched.
func (m *Minute) whole(why bool) document.Section {
	of, beyond := "of active time", ""
	if m.blind() {
		of, beyond = "on CPUs or ready for one", "; what else it waited for does not show"
	}
	b := &document.Bars{Lead: fmt.Sprintf("%s %s in these %s: %.2g at once on average%s", m.active("s", 1), of,
		result.Format(m.Report.Wall, "s"), m.atWork(), beyond)}
	if n := m.Report.Transactions; m.Connected && n >= 0 && m.Report.Wall > 0 {
		b.Lead += "; transactions: " + result.Format(float64(n)/m.Report.Wall, "1/s")
	}
	switch b.Lead += "."; {
	case why:
		b.Lead += m.chosen()
	case m.Service.Why != "":
		b.Lead += fmt.Sprintf(" %s is process %d, and not the only database here.", cmp.Or(m.Report.Vendor, "It"),
			m.Service.PID)
	}
	if !m.Connected && m.Why != "" {
		b.Lead += " " + lever.Sentence(m.Why)
	}
	if m.Report.Busy > 0 {
		all := m.bar()
		all.Segments = slices.DeleteFunc(all.Segments, func(s document.Segment) bool { return s.Value < little })
		b.Rows = []document.Bar{all}
	}
	return document.Titled("Where its time went", b)
}

// blind reports that of a service without sessions not even its threads' system calls show.
func (m *Minute) blind() bool { return !m.Connected && m.Report.Part(explain.LogWait).Source == "" }

// little is the share of a part that one screen leaves out.
const little = 0.005

// bar is its time by parts.
func (m *Minute) bar() (b document.Bar) {
	for _, p := range m.Parts() {
		b.Segments = append(b.Segments, document.Segment{Class: p.Name.Class(), Name: p.Name.Title(), Value: p.Share,
			Text: result.Share(p.Share)})
	}
	return b
}

// chosen is a sentence on why this service was watched, where nobody named it.
func (m *Minute) chosen() string {
	if m.Service.Why == "" {
		return ""
	}
	return fmt.Sprintf(" %s (process %d) is %s; --service pid:N watches another.", m.name(), m.Service.PID, m.Service.Why)
}

// shows says in a few words what shows a lever.
func (m *Minute) shows(l *lever.Lever) string {
	for _, e := range l.Evidence {
		if e.Source == lever.OfExperiment && e.Gains() {
			return "experiment: " + e.Gain.Percent().String()
		}
	}
	part, its := touched[l.Name]
	switch t, there := m.largest(); {
	case its:
		return part.Title() + " " + result.Share(m.share(part).Value)
	case l.Name == lever.Neighbour && there:
		return fmt.Sprintf("%s: %.2g CPUs", screen.Clean(t.Name), t.Seconds/max(m.Report.Wall, 1e-9))
	case l.Name == lever.CPUs && m.Host.Bound():
		return fmt.Sprintf("it may use %d of %d CPUs", m.Host.Allowed, m.Host.CPUs)
	case l.Name == lever.CPUs:
		return explain.RunQueue.Title() + " " + result.Share(m.share(explain.RunQueue).Value)
	case l.Name == lever.Quota && m.Quota != nil:
		return fmt.Sprintf("limit: %.3g CPUs", m.Quota.CPUs)
	case l.Name == lever.Limit && m.worst() != nil:
		s, _, _ := m.worst().beyond()
		return m.worst().Name + ": " + result.Format(s, "s") + " beyond it"
	case l.Name == lever.Idle && m.Wakeups != nil:
		return "wake-ups on idle CPUs"
	case l.Name == lever.Memory && m.short():
		return "limit: " + result.Format(m.Memory.Bytes, "B")
	}
	return l.Shown()
}
