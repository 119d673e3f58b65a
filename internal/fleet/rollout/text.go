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
)

// Typed is how the reader's commands go on from here.
type Typed struct {
	Plan  string // file
	Store string // "": the usual one
}

func (t Typed) gate(wave int) string {
	line := "hostlab fleet rollout gate " + screen.Operand(t.Plan) + " --wave " + strconv.Itoa(wave)
	if t.Store != "" {
		line += " --store " + screen.Operand(t.Store)
	}
	return line
}

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

// next are the commands that a wave takes.
func (p *Plan) next(wave int, t Typed) document.Commands {
	return document.Commands{
		{Why: "on " + named(p.Waves[wave-1].Hosts), Line: p.set()},
		{Why: "then bring what 'hostlab verify --format json' says on them, and 'hostlab assess' on all hosts of the plan", Line: "hostlab fleet ingest SPOOL"},
		{Why: "then ask whether to go on", Line: t.gate(wave)},
	}
}

// Document reports a plan. alone are strata of one host.
func (p *Plan) Document(t Typed, scatter float64, stale []string) *document.Document {
	hosts := len(p.Hosts())
	d := &document.Document{Name: "rollout", Title: "Plan of a roll-out", Data: p}
	last := p.Gates[len(p.Gates)-1]
	text := fmt.Sprintf("%s in %d waves. ", screen.Count(hosts, "host"), len(p.Waves))
	able := slices.ContainsFunc(p.Gates, func(g Gate) bool { return g.Alpha > 0 })
	switch {
	case !able:
		text += fmt.Sprintf("This plan cannot show harm: its hosts can be drawn in %s orders, so that p cannot fall below %s.", count(last.Orders), pText(last.LeastP))
	case math.IsNaN(scatter):
		text += "Which effect it can show is not known yet: that takes two assessments of some host."
	case last.Smallest != nil:
		text += fmt.Sprintf("The last gate finds harm of %s four times in five.", result.Share(*last.Smallest))
	default:
		text += "See below which gates can show harm."
	}
	d.Answer = []document.Line{{Text: text}}
	d.About = []string{"what is set: " + p.Change(), fmt.Sprintf("what is compared: %s, %s is better", p.Measure.Name, p.Measure.Better), fmt.Sprintf("seed %d", p.Seed)}
	if !math.IsNaN(scatter) {
		d.About = append(d.About, "one host's values scatter by "+result.Share(scatter))
	}
	if !able {
		d.Warnings = append(d.Warnings, "its gates say how large the effect looks, and never harm; more hosts would")
	}
	var alone []string
	for _, s := range p.Strata {
		if len(s.Hosts) == 1 {
			alone = append(alone, s.Hosts...)
		}
	}
	if len(alone) > 0 {
		d.Warnings = append(d.Warnings, named(alone)+": no other host has this hardware and role, so that it is compared with none")
	}
	if len(stale) > 0 {
		d.Warnings = append(d.Warnings, named(stale)+": not heard of lately; a wave waits for its hosts")
	}
	waves := &document.Table{Columns: document.Headings("wave", "hosts", "orders", "p at least", "finds harm of")}
	for i, w := range p.Waves {
		cells := []document.Cell{document.Text(strconv.Itoa(w.Wave)), document.Number(float64(len(w.Hosts)), strconv.Itoa(len(w.Hosts)))}
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
		waves.Add(append(cells, document.Number(g.Orders, count(g.Orders)), document.Number(g.LeastP, pText(g.LeastP)), document.Text(least))...)
	}
	members := document.Pairs{}
	for _, w := range p.Waves {
		members = append(members, document.Pair{Name: "wave " + strconv.Itoa(w.Wave), Value: strings.Join(w.Hosts, ", ")})
	}
	out := &document.Table{Columns: document.Headings("host", "check", "until", "reason")}
	for _, l := range p.LeftOut {
		out.Add(document.Texts(l.Host, l.Check, l.Until, l.Reason)...)
	}
	d.Sections = []document.Section{document.Titled("What gates can show", waves), document.Titled("Hosts", members),
		document.Titled("Left out by an exception", out), document.Titled("Next", p.next(1, t))}
	return d
}

// Status reports what has become of a plan.
func (c *Course) Status(t Typed) *document.Document {
	p := c.Plan
	table := &document.Table{Columns: document.Headings("wave", "hosts", "have it", "measured before", "measured since", "set at")}
	done, first := 0, 0
	type waveJSON struct {
		Wave    int        `json:"wave"`
		Hosts   int        `json:"hosts"`
		Have    int        `json:"have"`
		Before  int        `json:"before"` // hosts that were measured before the first wave
		After   int        `json:"after"`
		Reached *time.Time `json:"reached"` // when its last host had the change; null: not known
	}
	waves := []waveJSON{}
	odd := &document.Table{Columns: document.Headings("host", "wave", "state"), Most: 40}
	for _, w := range p.Waves {
		row := waveJSON{Wave: w.Wave, Hosts: len(w.Hosts)}
		for _, h := range c.wave(w.Wave) {
			if h.Applied != nil {
				row.Have++
			}
			if h.Before > 0 {
				row.Before++
			}
			if h.After > 0 {
				row.After++
			}
			if h.State != Has && (h.State != Waiting || !c.begun[w.Wave].IsZero()) {
				odd.Add(document.Texts(h.Name, strconv.Itoa(w.Wave), string(h.State))...)
			}
		}
		at := "not yet"
		if row.Have == row.Hosts {
			done++
		}
		if when := c.reached[w.Wave]; !when.IsZero() {
			row.Reached, at = &when, when.UTC().Format("2006-01-02 15:04")
		}
		if first == 0 && row.Have < row.Hosts {
			first = w.Wave
		}
		of := func(n int) document.Cell { return document.Number(float64(n), fmt.Sprintf("%d", n)) }
		table.Add(document.Text(strconv.Itoa(w.Wave)), of(row.Hosts), of(row.Have), of(row.Before), of(row.After), document.Text(at))
		waves = append(waves, row)
	}
	text := fmt.Sprintf("%d of %d waves are done. ", done, len(p.Waves))
	var commands document.Commands
	switch {
	case first == 0:
		text += "All hosts have the change, or had nothing to set."
		commands = document.Commands{{Why: "what it did", Line: t.gate(len(p.Waves))}}
	case c.begun[first].IsZero():
		text += fmt.Sprintf("Wave %d has not begun.", first)
		if first > 1 {
			commands = document.Commands{{Why: "may it?", Line: t.gate(first - 1)}}
		}
		commands = append(commands, p.next(first, t)...)
	default:
		text += fmt.Sprintf("Wave %d is under way: %d of %d hosts have the change.", first, waves[first-1].Have, waves[first-1].Hosts)
		commands = p.next(first, t)
	}
	return &document.Document{Name: "rollout", Title: "Roll-out", Answer: []document.Line{{Text: text}}, About: []string{"what is set: " + p.Change()},
		Sections: []document.Section{document.Titled("Waves", table), document.Titled("Hosts to look at", odd), document.Titled("Next", commands)},
		Data: struct {
			Schema int        `json:"schema"`
			Kind   string     `json:"kind"`
			Done   int        `json:"done"`
			Waves  []waveJSON `json:"waves"`
			Hosts  []*Host    `json:"hosts"`
		}{Schema, "rollout-status", done, waves, c.Hosts}}
}

// Document reports a gate.
func (j *Judged) Document(p *Plan, t Typed) *document.Document {
	figure := ""
	if j.Value != nil {
		figure = fmt.Sprintf(" %s is %s with the change%s, n = %s with it and %d without, p = %s for harm.", p.Measure.Name, worse(*j.Value),
			interval(j), screen.Count(j.With, "host"), j.Without, pText(*j.PWorse))
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
		line = fmt.Sprintf("Stop behind wave %d: that it is better is not shown.", j.Wave)
	default:
		line = fmt.Sprintf("Undecided: do not begin wave %d.", j.Wave+1)
		if j.Wave == len(p.Waves) {
			line = "Undecided."
		}
	}
	if !j.Go && j.Verdict != Harm {
		next = document.Commands{{Why: "measure all hosts of the plan again, then", Line: "hostlab fleet ingest SPOOL"}, {Why: "ask again", Line: t.gate(j.Wave)}}
	}
	d := &document.Document{Name: "rollout", Title: "Gate", Answer: []document.Line{{Text: line + figure, Tone: tone}}, Warnings: j.Reasons}
	if len(j.Left) > 0 {
		d.Warnings = append(slices.Clone(j.Reasons), named(j.Left)+": not compared, since measurements before or since are missing")
	}
	d.About = []string{"what is set: " + p.Change()}
	if j.Value != nil {
		d.About = append(d.About, fmt.Sprintf("hosts with and without it in %s, each against itself before; "+
			"%s orders in which hosts could have been drawn", screen.Count(j.Periods, "period"), count(j.Orders)))
	}
	d.Sections = []document.Section{document.Titled("Next", next)}
	d.Data = struct {
		Schema int    `json:"schema"`
		Kind   string `json:"kind"`
		*Judged
	}{Schema, "rollout-gate", j}
	return d
}

var words = map[Verdict]string{Better: "it is better", NoHarm: "it harms by less than " + result.Share(margin), Undecided: "harm is not shown"}

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
