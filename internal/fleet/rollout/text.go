package rollout

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

// Typed is how the reader's commands go on from here.
type Typed struct {
	Plan  string // file
	Store string // "": the usual one
}

func (t Typed) gate(wave int) string {
	return screen.With("hostlab fleet rollout gate "+screen.Operand(t.Plan)+" --wave "+strconv.Itoa(wave), "--store", t.Store)
}

func (t Typed) ingest() string { return screen.With("hostlab fleet ingest SPOOL", "--store", t.Store) }

// set is what is typed on a host.
func (p *Plan) set() string {
	line := "hostlab set --yes"
	if p.Role != "" {
		line += " --role " + string(p.Role)
	}
	for _, s := range p.Set {
		line += " " + screen.Operand(s)
	}
	return line
}

// effects are what the settings of the plan do besides. Those of a role are what a host's own plan names.
func (p *Plan) effects() (text string) {
	for _, typed := range p.Set {
		name, value, _ := strings.Cut(typed, "=")
		name, _, _ = strings.Cut(name, "@")
		if s, err := setting.Named(name); err == nil {
			if e := s.SideEffect(value); e != "" {
				text += "; " + s.Name + ": " + e
			}
		}
	}
	return text
}

func (p *Plan) next(wave int, t Typed) document.Commands {
	return document.Commands{
		{Why: "on " + named(p.Waves[wave-1].Hosts) + p.effects(), Line: p.set()},
		{Why: "then collect 'hostlab verify --format json' from them, and 'hostlab assess' from all hosts of the plan",
			Line: t.ingest()},
		{Why: "then judge the wave", Line: t.gate(wave)},
	}
}

// Document reports a plan. alone are strata of one host.
func (p *Plan) Document(t Typed, scatter float64, stale []string) *document.Document {
	hosts := len(p.Hosts())
	d := &document.Document{Name: "rollout", Title: "Plan of a roll-out", When: p.Created, Data: p}
	last := p.Gates[len(p.Gates)-1]
	text := fmt.Sprintf("%s in %d waves. ", screen.Count(hosts, "host"), len(p.Waves))
	able := slices.ContainsFunc(p.Gates, func(g Gate) bool { return g.Alpha > 0 })
	switch {
	case !able:
		text += fmt.Sprintf("This plan cannot show harm: with %s possible orders of its hosts, p cannot fall below %s.",
			count(last.Orders), pText(last.LeastP))
	case math.IsNaN(scatter):
		text += "The smallest harm that it can find is unknown: that needs two assessments of one host."
	case last.Smallest != nil:
		text += fmt.Sprintf("If the change makes hosts %s worse, the last gate says so in 4 of 5 roll-outs (80 %% power).",
			result.Share(*last.Smallest))
	default:
		text += "See below which gates can show harm."
	}
	d.Answer = []document.Line{{Text: text}}
	d.About = []string{"what is set: " + p.Change(), fmt.Sprintf("what is compared: %s, %s is better", p.Measure.Name,
		p.Measure.Better), fmt.Sprintf("seed %d", p.Seed)}
	if !math.IsNaN(scatter) {
		d.About = append(d.About, "assessments of one host scatter by "+result.Share(scatter))
	}
	if !able {
		d.Warnings = append(d.Warnings, "its gates show how large the effect looks, but can never show harm; a plan with "+
			"more hosts could")
	}
	var alone []string
	for _, s := range p.Strata {
		if len(s.Hosts) == 1 {
			alone = append(alone, s.Hosts...)
		}
	}
	if len(alone) > 0 {
		d.Warnings = append(d.Warnings, named(alone)+": no other host has this hardware and role to compare with")
	}
	if len(stale) > 0 {
		d.Warnings = append(d.Warnings, named(stale)+": sent no document lately; a wave is not done until all its hosts have")
	}
	waves := &document.Table{Columns: document.Headings("wave", "hosts", "orders", "p at least", "finds harm of")}
	for i, w := range p.Waves {
		cells := []document.Cell{document.Text(strconv.Itoa(w.Wave)),
			document.Number(float64(len(w.Hosts)), strconv.Itoa(len(w.Hosts)))}
		if i >= len(p.Gates) {
			waves.Add(append(cells, document.Text("as above"), document.Text(""), document.Text(""))...)
			continue
		}
		g, least := p.Gates[i], "unknown"
		switch {
		case g.Alpha == 0:
			least = "none"
		case g.Smallest != nil:
			least = result.Share(*g.Smallest)
		}
		waves.Add(append(cells, document.Number(g.Orders, count(g.Orders)), document.Number(g.LeastP, pText(g.LeastP)),
			document.Text(least))...)
	}
	members := document.Pairs{}
	for _, w := range p.Waves {
		members = append(members, document.Pair{Name: "wave " + strconv.Itoa(w.Wave), Value: strings.Join(w.Hosts, ", ")})
	}
	out := &document.Table{Columns: document.Headings("host").Names("check", "until", "reason")}
	for _, l := range p.LeftOut {
		out.Row(l.Host, l.Check, l.Until, l.Reason)
	}
	d.Sections = []document.Section{document.Titled("What gates can show", waves), document.Titled("Hosts", members),
		document.Titled("Left out by an exception", out), document.Titled("Next", p.next(1, t))}
	return d
}

// WaveRow is how far a wave is.
type WaveRow struct {
	Wave    int        `json:"wave"`
	Hosts   int        `json:"hosts"`
	Have    int        `json:"have"`
	Before  int        `json:"before"` // hosts that were measured before the first wave
	After   int        `json:"after"`
	Reached *time.Time `json:"reached"` // when its last host had the change; null: not known
}

// progress is how far all waves are: how many are done, the first that is not (0: none), and both in words.
func (c *Course) progress() (rows []WaveRow, done, first int, text string) {
	for _, w := range c.Plan.Waves {
		row := WaveRow{Wave: w.Wave, Hosts: len(w.Hosts)}
		for _, h := range c.wave(w.Wave) {
			if h.Applied != nil && h.State != Reverted {
				row.Have++
			}
			if h.Before > 0 {
				row.Before++
			}
			if h.After > 0 {
				row.After++
			}
		}
		if when := c.reached[w.Wave]; !when.IsZero() {
			row.Reached = &when
		}
		switch {
		case row.Have == row.Hosts:
			done++
		case first == 0:
			first = w.Wave
		}
		rows = append(rows, row)
	}
	back, _ := c.putBack()
	text = fmt.Sprintf("%d of %d waves are done. ", done, len(rows))
	switch {
	case first == 0:
		text += "All hosts have the change, or had nothing to set."
	case c.begun[first].IsZero():
		text += fmt.Sprintf("Wave %d has not begun.", first)
	default:
		stands := " is under way"
		if len(back) > 0 {
			stands = ""
		}
		text += fmt.Sprintf("Wave %d%s: %d of %d hosts have the change.", first, stands, rows[first-1].Have, rows[first-1].Hosts)
	}
	if len(back) > 0 {
		text += " It was put back on " + named(back) + "."
	}
	return rows, done, first, text
}

// putBack are hosts that had the change and have it no longer, and the last wave that has such.
func (c *Course) putBack() (names []string, wave int) {
	for _, h := range c.Hosts { // by wave
		if h.State == Reverted {
			names, wave = append(names, h.Name), h.Wave
		}
	}
	return names, wave
}

// State says how far the roll-out is.
func (c *Course) State() string {
	_, _, _, text := c.progress()
	return text
}

// StatusReport is what status says to programs.
type StatusReport struct {
	document.Head
	Done  int       `json:"done"`
	Waves []WaveRow `json:"waves"`
	Hosts []*Host   `json:"hosts"`
}

// Status reports what has become of a plan.
func (c *Course) Status(t Typed) *document.Document {
	p := c.Plan
	rows, done, first, text := c.progress()
	table := &document.Table{Columns: document.Headings("wave", "hosts", "have it", "measured before", "measured since",
		"set at")}
	odd := &document.Table{Columns: document.Headings("host", "wave", "state"), Most: 40}
	for _, row := range rows {
		at := "not yet"
		if row.Reached != nil {
			at = row.Reached.UTC().Format("2006-01-02 15:04")
		}
		of := func(n int) document.Cell { return document.Number(float64(n), strconv.Itoa(n)) }
		table.Row(strconv.Itoa(row.Wave), of(row.Hosts), of(row.Have), of(row.Before), of(row.After), at)
		for _, h := range c.wave(row.Wave) {
			if h.State != Has && (h.State != Waiting || !c.begun[row.Wave].IsZero()) {
				odd.Row(h.Name, strconv.Itoa(row.Wave), string(h.State))
			}
		}
	}
	var commands document.Commands
	_, back := c.putBack()
	switch {
	case first == 0:
		commands = document.Commands{{Why: "what it did", Line: t.gate(len(p.Waves))}}
	case back > 0:
		commands = document.Commands{{Why: "why it was put back", Line: t.gate(back)}}
	case first > 1 && c.begun[first].IsZero():
		commands = append(document.Commands{{Why: "may it?", Line: t.gate(first - 1)}}, p.next(first, t)...)
	default:
		commands = p.next(first, t)
	}
	return &document.Document{Name: "rollout", Title: "Roll-out", Answer: []document.Line{{Text: text}},
		About: []string{"what is set: " + p.Change()},
		Sections: []document.Section{document.Titled("Waves", table), document.Titled("Hosts to look at", odd),
			document.Titled("Next", commands)},
		Data: StatusReport{document.Head{Kind: "rollout-status", Schema: Schema}, done, rows, c.Hosts}}
}

// Document reports a plan with all that became of it: waves, what gates can show, and what they say of waves that have
// begun.
func (c *Course) Document(t Typed) (*document.Document, error) {
	p, d := c.Plan, c.Status(t)
	planned := p.Document(t, math.NaN(), nil)
	said := &document.Table{Columns: document.Headings("after wave", "verdict", "with the change", "p for harm").
		Names(string(UnlessHarm), string(OnlyIfBetter), "why")}
	gates := []*Judged{}
	for _, w := range p.Waves {
		if c.begun[w.Wave].IsZero() {
			continue
		}
		var of [2]*Judged
		for i, policy := range Policies {
			j, err := c.Gate(w.Wave, policy)
			if err != nil {
				return nil, err
			}
			of[i] = j
		}
		j, figure, chance := of[0], document.Text("unknown"), document.Text("unknown")
		if j.Value != nil {
			figure = document.Number(*j.Value, worse(*j.Value)+interval(j)+fmt.Sprintf(", n %d and %d", j.With, j.Without))
			chance = document.Number(*j.PWorse, pText(*j.PWorse))
		}
		goes := func(j *Judged) document.Cell {
			if j.Go {
				return document.Text("goes on")
			}
			return document.Text("stops")
		}
		verdict := document.Text(string(j.Verdict))
		if j.Verdict == Harm {
			verdict.Tone = document.Caution
		}
		said.Row(strconv.Itoa(w.Wave), verdict, figure, chance, goes(of[0]), goes(of[1]), strings.Join(j.Reasons, "; "))
		gates = append(gates, j)
	}
	if n := len(gates); n > 0 {
		d.Answer = append(d.Answer, gates[n-1].Document(p, t).Answer...)
	}
	d.Warnings = planned.Warnings
	d.About = append(planned.About, fmt.Sprintf("planned at %s UTC", p.Created.UTC().Format("2006-01-02 15:04")))
	d.Sections = slices.Concat(d.Sections[:1], []document.Section{document.Titled("What the gates say", said)},
		planned.Sections[:1], d.Sections[1:2], planned.Sections[1:3], d.Sections[2:])
	d.Data = Rollout{document.Head{Kind: "rollout", Schema: Schema}, p, d.Data.(StatusReport),
		gates} //nolint:forcetypeassert // Status has put it there
	return d, nil
}

// Document reports a gate.
func (j *Judged) Document(p *Plan, t Typed) *document.Document {
	figure := ""
	if j.Effect != "" {
		figure = " " + j.Effect + "."
	}
	line, tone := "", document.Tone("")
	next := document.Commands(nil)
	switch {
	case j.Verdict == Harm:
		line, tone = fmt.Sprintf("Harm: put wave %d back.", j.Wave), document.Caution
		next = document.Commands{{Why: "on " + named(p.Waves[j.Wave-1].Hosts), Line: "hostlab revert"}}
	case j.Go && j.Wave == len(p.Waves):
		line = "Done: " + words[j.Verdict] + "."
	case j.Go:
		line = fmt.Sprintf("Go on with wave %d: %s.", j.Wave+1, words[j.Verdict])
		next = p.next(j.Wave+1, t)
	case j.Policy == OnlyIfBetter && j.Value != nil:
		line = fmt.Sprintf("Stop after wave %d: the change is not shown to be better.", j.Wave)
	default:
		line = fmt.Sprintf("Undecided: do not begin wave %d.", j.Wave+1)
		if j.Wave == len(p.Waves) {
			line = "Undecided."
		}
	}
	if !j.Go && j.Verdict != Harm {
		next = document.Commands{{Why: "measure all hosts of the plan again, then", Line: t.ingest()},
			{Why: "judge the wave again", Line: t.gate(j.Wave)}}
	}
	d := &document.Document{Name: "rollout", Title: fmt.Sprintf("Gate of wave %d: %s", j.Wave, p.Change()),
		Answer:   []document.Line{{Text: line + figure, Tone: tone}},
		Warnings: j.Reasons}
	if len(j.Left) > 0 {
		d.Warnings = append(slices.Clone(j.Reasons), named(j.Left)+
			": not compared: no measurement from before the change, or none from after it")
	}
	d.About = []string{"what is set: " + p.Change()}
	if j.Value != nil {
		d.About = append(d.About, fmt.Sprintf("compares hosts with and without the change in %s, each with its own values "+
			"before; %s possible orders of the hosts", screen.Count(j.Periods, "period"), count(j.Orders)))
	}
	d.Sections = []document.Section{document.Titled("Next", next)}
	d.Data = GateReport{document.Head{Kind: "rollout-gate", Schema: Schema}, j}
	return d
}

// inWords is the effect, which is known.
func (j *Judged) inWords() string {
	return fmt.Sprintf("%s is %s with the change%s, n = %s with it and %d without, p = %s for harm", j.Measure.Name,
		worse(*j.Value), interval(j), screen.Count(j.With, "host"), j.Without, pText(*j.PWorse))
}

var words = map[Verdict]string{Better: "it is better", NoHarm: "it harms by less than " + result.Share(margin),
	Undecided: "harm is not shown"}

// worse is a share of which the sign is a word.
func worse(v float64) string {
	if v < 0 {
		return result.Share(-v) + " better"
	}
	return result.Share(v) + " worse"
}

// interval is from better, below 0, to worse.
func interval(j *Judged) string {
	if j.Low == nil || j.High == nil {
		return " (too few orders for an interval)"
	}
	return fmt.Sprintf(" [%+.1f %%, %+.1f %%]", 100**j.Low, 100**j.High)
}

// named names a few hosts, and counts many.
func named(hosts []string) string {
	const most = 6
	if len(hosts) > most+1 {
		return strings.Join(hosts[:most], ", ") + fmt.Sprintf(" and %d more", len(hosts)-most)
	}
	return strings.Join(hosts, ", ")
}

func count(n float64) string {
	if n >= 1e6 {
		return fmt.Sprintf("%.0e", n)
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

func pText(p float64) string {
	if p < 0.001 {
		return fmt.Sprintf("%.0e", p)
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}

// Rollout is all that a page says of a plan.
type Rollout struct {
	document.Head
	Plan   *Plan        `json:"plan"`
	Status StatusReport `json:"status"`
	Gates  []*Judged    `json:"gates"` // of waves that have begun, under unless-harm
}

// GateReport is what a gate says to programs.
type GateReport struct {
	document.Head
	*Judged
}
