package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"hostlab/internal/chain"
	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Change is how the time of a transaction differs between two minutes, and what moved the part that moved most.
type Change struct {
	explain.Change
	// Ends are what its waits ended with, those first that moved most in the direction of the change. Empty: the part does
	// not wait, or one of both minutes did not follow its waits.
	Ends []Moved `json:"ends"`
	// Program used more CPUs than before, if the part is waits for a CPU; null: none did.
	Program *MovedProgram `json:"program"`
}

// Moved is by how much what a part's waits ended with moved.
type Moved struct {
	With chain.Kind `json:"with"`
	Of   Owner      `json:"of"`
	// s a transaction, with the 95 % interval by the scheduler's windows of both; N is their number
	By result.Estimate `json:"by"`
}

// MovedProgram is another program that took CPUs.
type MovedProgram struct {
	Name   string  `json:"name"`
	Before float64 `json:"before"` // CPUs
	After  float64 `json:"after"`
}

// ChangeOf compares the minute with an earlier one, as explain.ChangeOf does.
func (m *Minute) ChangeOf(before *Minute, days float64) (c Change, ok bool) {
	c.Change, ok = explain.ChangeOf(&before.Report, &m.Report, days)
	if !ok {
		return c, false
	}
	if c.Part == explain.RunQueue && c.By > 0 {
		c.Program = m.grown(before)
	}
	c.Ends = m.movedEnds(before, &c.Change)
	return c, true
}

// movedEnds are those of the part that moved.
func (m *Minute) movedEnds(before *Minute, c *explain.Change) (list []Moved) {
	list = []Moved{}
	if c.Part == explain.DatabaseCPU || !m.follows(c.Part) || !before.follows(c.Part) {
		return list
	}
	both := slices.Concat(m.ends(c.Part), before.ends(c.Part))
	for i, e := range both {
		if slices.ContainsFunc(both[:i], func(o Ended) bool { return o.With == e.With && o.Of == e.Of }) {
			continue
		}
		by := result.Estimate{Evidence: result.Measured}
		half := 0.0
		for _, x := range []struct {
			*Minute
			sign float64
		}{{m, 1}, {before, -1}} {
			each := x.Report.Part(c.Part).Seconds / float64(x.Report.Transactions)
			s := x.Ends.Share(c.Part, func(o chain.End) bool { return o.Kind == e.With && x.owner(o.PID) == e.Of })
			by.Value, by.N = by.Value+x.sign*each*s.Value, by.N+s.N
			half = math.Hypot(half, each*(s.High-s.Low)/2)
		}
		by.Low, by.High = by.Value-half, by.Value+half
		if by.Value*c.By > 0 {
			list = append(list, Moved{e.With, e.Of, by})
		}
	}
	slices.SortStableFunc(list, func(a, b Moved) int { return cmp.Compare(math.Abs(b.By.Value), math.Abs(a.By.Value)) })
	return list
}

// grown is the program that used more CPUs than before, by most; nil: none did that is worth a word.
func (m *Minute) grown(before *Minute) (out *MovedProgram) {
	then := before.others()
	hidden := 0.0 // what one that is not listed may have used: it may stand behind those that were kept
	if len(then) >= mostTakers {
		hidden = then[len(then)-1].Seconds
	}
	most := notable
	for _, t := range m.others() {
		used, listed := 0.0, false
		for _, o := range then {
			if o.Name == t.Name && o.Group == t.Group {
				used, listed = used+o.Seconds, true
			}
		}
		if !listed {
			used = hidden
		}
		p := MovedProgram{t.Name, used / max(before.Report.Wall, 1e-9), t.Seconds / max(m.Report.Wall, 1e-9)}
		if by := p.After - p.Before; by >= most {
			most, out = by, &p
		}
	}
	return out
}

// Compared puts an earlier minute beside this one.
func (m *Minute) Compared(before *Minute, days float64) document.Section {
	says := document.Line{Text: m.changed(before, days), Tone: document.Strong}
	return document.Titled("Before and after", append([]document.Block{says}, comparison(&before.Report, &m.Report)...)...)
}

// Changed says in a few lines how the minute differs from an earlier one.
func (m *Minute) Changed(before *Minute, days float64) document.Section {
	blocks := []document.Block{document.Points(differences(&before.Report, &m.Report)...)}
	return document.Titled("Before and after", append(blocks, document.Line{Text: m.changed(before, days)})...)
}

// changed says whether transactions take longer than before, which part of them, and what that part ended with.
func (m *Minute) changed(before *Minute, days float64) string {
	c, ok := m.ChangeOf(before, days)
	if !ok {
		return "Not both minutes counted transactions; --all compares shares of active time."
	}
	says := fmt.Sprintf("A transaction took %s of active time before, and %s after", seconds(c.Before), seconds(c.After))
	if !c.Ratio.HasInterval() {
		return says + "; whether that is chance is not known: one of both is too short."
	}
	of := "these stretches; how days differ is not in it"
	if days > 0 {
		of = "stretches and days"
	}
	by, more := c.Ratio.Map(func(v float64) float64 { return v - 1 }), "longer"
	if c.Ratio.Low <= 1 && c.Ratio.High >= 1 {
		return fmt.Sprintf("%s: a change of %s, no more than chance (n %d, interval of %s).", says, by.Percent().Brief(),
			by.N, of)
	}
	if by.Value < 0 {
		by, more = by.Negated(), "less"
	}
	return fmt.Sprintf("%s: %s %s (n %d, interval of %s). Most of that is %s: %s of %s.%s", says, by.Percent().Brief(),
		more, by.N, of,
		c.Part.Title(), seconds(math.Abs(c.By)), seconds(math.Abs(c.After-c.Before)), m.why(before, &c))
}

// why says what moved the part that moved most.
func (m *Minute) why(before *Minute, c *Change) (says string) {
	if p := c.Program; p != nil {
		says = fmt.Sprintf(" %s took %.3g of %s, and %.2g before.", screen.Clean(p.Name), p.After,
			screen.Count(m.Host.CPUs, "CPU"), p.Before)
	}
	_, waits := whose[c.Part]
	switch {
	case len(c.Ends) > 0:
		return says + " " + c.behind()
	case !waits || c.Part == explain.LogWait || c.Part == explain.DataReads: // the part is its own cause
		return says
	}
	at := "before"
	if before.follows(c.Part) {
		at = "after"
	}
	return says + " What these waits ended with " + at + " is not known."
}

// behind says which end moved most, in a sentence that begins with its time.
func (c *Change) behind() string {
	e := c.Ends[0]
	who := doers[c.Part]
	doing := ended[e.With]
	if e.With == chain.Ready && e.Of != OfNobody {
		doing += " that " + had[e.Of] + " had"
	}
	by := e.By
	if by.Value < 0 {
		by = by.Negated()
	}
	if by.Low <= 0 {
		return fmt.Sprintf("Perhaps %s %s, but that may be chance: %s [%s, %s] (n %s).", who, doing, seconds(by.Value),
			signed(by.Low),
			signed(by.High), screen.Count(by.N, "window"))
	}
	in := "In"
	if e.By.Value < 0 {
		in = "That is gone: in"
	}
	return fmt.Sprintf("%s %s [%s, %s] of these, %s %s (n %s).", in, seconds(by.Value), signed(by.Low), signed(by.High),
		who, doing,
		screen.Count(by.N, "window"))
}

// doers are those whose doing ends the waits of a part, in a sentence that begins elsewhere.
var doers = map[explain.PartName]string{explain.RunQueue: "its threads", explain.Locks: "their holders",
	explain.LogWait:   "the log's writer",
	explain.DataReads: "the data's reader", explain.Application: "its clients",
	explain.OtherWaits: "those that it waited for",
	explain.Peers:      "the servers that it asked"}

// had is who had the CPU for which a thread waited.
var had = map[Owner]string{OfService: "the service itself", OfClients: "clients on this host",
	OfOthers: "other programs"}

// signed writes a time that may be below zero.
func signed(v float64) string {
	if v < 0 {
		return "-" + seconds(-v)
	}
	return seconds(v)
}
