package predict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/model"
)

// Document returns the answer as every format prints it.
func (a *Answer) Document() *document.Document {
	data := a.Data()
	d := a.head()
	d.Warnings, d.Data, d.Rows = a.Warnings, data, data.rows()
	add := func(s document.Section) { d.Sections = append(d.Sections, s) }
	for i, s := range a.Sentences() {
		tone := document.Strong
		if i > 0 {
			tone = ""
		}
		d.Answer = append(d.Answer, document.Line{Text: s, Tone: tone})
	}
	if h := a.Machine.HostDecides; h != nil {
		d.Answer = append(d.Answer, document.Line{Text: h.Text(), Tone: document.Caution})
		add(document.Titled(askTitle, document.Points(h.Ask...)))
	}
	add(document.Section{Title: "Case", Blocks: []document.Block{a.pairs()}})
	for i, c := range a.Comparisons {
		if i == 0 { // what the answer is of; where an effect vanishes stands below
			add(document.Titled("Result"+at(c), a.comparison(c, shortTable)...).On(document.Terminal))
		}
		add(document.Titled("Result"+at(c), a.comparison(c, longTable)...).On(document.Page))
	}
	if len(a.Vanishing) > 0 {
		add(document.Section{Title: "Where the effect vanishes",
			Blocks: []document.Block{document.Figure{Figure: curves(a)}, a.vanishing()}})
		add(document.Section{Title: "Ratios over loads", Where: document.Page, Folded: true,
			Blocks: []document.Block{a.points()}})
	}
	if len(a.Sensitivity) > 0 {
		add(document.Section{Title: "What the answer depends on",
			Blocks: []document.Block{document.Figure{Figure: tornado(a)}, a.sensitivity()}})
	}
	for _, c := range a.Comparisons {
		add(document.Section{Title: "Residency" + at(c), Where: document.Page, Folded: true,
			Blocks: []document.Block{residency(c)}})
	}
	add(document.Section{Title: "Assumptions", Where: document.Page,
		Blocks: []document.Block{document.Line{Text: "hostlab did not measure these for this case, or no vendor documents them.",
			Tone: document.Quiet}, a.assumptions()}})
	add(document.Section{Title: "Next", Blocks: []document.Block{document.Line{Text: a.TestNote()},
		document.Commands{{Why: "to test it on this host", Line: a.TestCommand()}}}})
	add(document.Section{Title: "More", Where: document.Terminal,
		Blocks: []document.Block{document.Line{Tone: document.Quiet,
			Text: "--format html and markdown have other loads, energy, clocks, residency, and what was assumed."}}})
	return d
}

// head is a document with what stands above all else.
func (a *Answer) head() *document.Document {
	return &document.Document{Name: "prediction", Title: a.Workload.Name + " on " + a.Machine.Name,
		About: []string{fmt.Sprintf(
			"Simulated, not measured: %d replications on %d CPUs, with the same random load for each "+
				"policy (seed %d); 95 %% intervals.", a.Options.Replications, a.Machine.CPUs(), a.Options.Seed)}}
}

// Brief is the answer on one screen: what it costs, against what, how sure that is, and what to do next.
func (a *Answer) Brief() *document.Document { return document.Brief(a.brief) }

// brief has so many of each thing at most.
func (a *Answer) brief(most int) *document.Document {
	d, c, ask := a.head(), a.Comparisons[0], []string(nil)
	d.Answer = []document.Line{{Text: a.cost(), Tone: document.Strong}}
	if h := a.Machine.HostDecides; h != nil {
		d.Answer, ask = append(d.Answer, document.Line{Text: h.brief(), Tone: document.Caution}), h.Ask
	}
	d.Warnings = document.AtMost(most/2, a.Warnings, "warning")
	result := a.comparison(c, shortTable)
	if t, is := result[0].(*document.Table); is {
		t.Lead, t.Rows = "Other rows are ratios to the first, with 95 % intervals.", t.Rows[:min(len(t.Rows), max(2, most))]
	}
	if most < 2 {
		result = result[:1] // without what limits its rows
	}
	sure := slices.DeleteFunc([]string{a.ends(), a.depends(), a.whose()}, func(s string) bool { return s == "" })
	next := []document.Block{document.Commands{{Why: "to test it on this host", Line: a.TestCommand()}}}
	if most > 2 {
		next = slices.Insert(next, 0, document.Block(document.Line{Text: a.TestNote()}))
	}
	d.Sections = []document.Section{document.Titled("Result"+at(c), result...),
		document.Titled("How sure", document.Points(sure[:min(len(sure), most)]...)),
		document.Titled(askTitle, document.Points(document.AtMost(most, ask, "question")...)),
		document.Titled("Next", next...),
		document.Titled("More", document.Line{Tone: document.Quiet, Text: "--all prints all policies, and what was assumed " +
			"of host and workload; --out FILE.html has other loads, energy and pictures, too."})}
	return d
}

const askTitle = "Ask the owner of the hypervisor's host"

func (a *Answer) pairs() document.Pairs {
	out := document.Pairs{{Name: "host", Value: machineLine(a.Machine.Machine)},
		{Name: "workload", Value: workloadLine(a.Workload.Workload)}}
	if l := recordLine(a); l != "" {
		out = append(out, document.Pair{Name: "record", Value: l})
	}
	return out
}

type column struct {
	response model.Response
	head     string
}

// A page shows every response as value and ratio, a terminal the ratios of three.
var (
	longTable = []column{{model.StepTime, "step time"}, {model.StepTimeP95, "p95"}, {model.StepTimeP99, "p99"},
		{model.CPUSeconds, "CPU time"},
		{model.Throughput, "throughput"}, {model.JoulesPerStep, "energy"}, {model.Performance, "clock"},
		{model.RampTime, "ramp"}}
	shortTable = []column{{model.StepTime, "step time"}, {model.CPUSeconds, "CPU time"},
		{model.StepTimeP99, "p99 step time"}}
)

// comparison returns the table of one load, with what limits its rows.
func (a *Answer) comparison(c model.Comparison, columns []column) []document.Block {
	t := &document.Table{Columns: document.Headings("policy")}
	if c.Baseline.Load == a.Comparisons[0].Baseline.Load || math.IsNaN(c.Baseline.Load) {
		t.Lead = "First row: a step under " + a.Baseline.Name + ". Other rows: ratios to it, with 95 % intervals."
		if len(columns) == len(longTable) {
			t.Lead += " Clock: mean frequency while busy, in % of nominal. " +
				"Ramp: from a slice's start on an idle CPU to the highest frequency."
		}
	}
	for _, x := range columns {
		t.Columns = append(t.Columns, document.Column{Head: x.head, Right: true})
	}
	for i, r := range c.All() {
		row := document.Row{Cells: []document.Cell{document.Text(label(r))}}
		if len(r.Responses) == 0 {
			row.Across = reason(r)
			t.Rows = append(t.Rows, row)
			continue
		}
		for _, x := range columns {
			row.Cells = append(row.Cells, cell(r, x.response, i == 0, len(columns) == len(longTable)))
		}
		t.Rows = append(t.Rows, row)
	}
	blocks := []document.Block{t}
	var limits document.List
	for _, w := range shared(c) {
		limits = append(limits, document.Line{Text: w, Tone: document.Caution})
	}
	if len(limits) > 0 {
		blocks = append(blocks, limits)
	}
	return blocks
}

func cell(r model.Row, x model.Response, baseline, both bool) document.Cell {
	e, ok := r.Responses[x]
	if !ok {
		return document.Text("-")
	}
	out := document.Number(e.Value, e.Text())
	switch ratio := r.Ratio[x]; {
	case x == model.Performance:
		out.Text = e.Percent().Text()
	case x == model.RampTime && math.IsInf(e.Value, 1):
		out.Text = "never"
	case x == model.RampTime:
	case baseline && both:
		out.More = []string{e.Interval()}
	case !baseline && both && ratio.Known():
		out.More = []string{ratio.Text(), ratio.Interval()}
	case !baseline && ratio.Known():
		out = document.Number(ratio.Value, ratio.Brief())
	}
	return out
}

func residency(c model.Comparison) *document.Table {
	t := &document.Table{Columns: document.Headings("policy").Names("busy", "idle")}
	for _, r := range c.All() {
		if len(r.Responses) > 0 {
			t.Rows = append(t.Rows, textRow(label(r), topStates(r.PStates), topStates(r.IdleStates)))
		}
	}
	return t
}

func textRow(cells ...string) (r document.Row) {
	for _, s := range cells {
		r.Cells = append(r.Cells, document.Text(s))
	}
	return r
}

func topStates(list []model.Residency) string {
	list = slices.DeleteFunc(slices.Clone(list), func(r model.Residency) bool { return !(r.Share.Value >= 0.005) })
	slices.SortStableFunc(list, func(a, b model.Residency) int { return cmp.Compare(b.Share.Value, a.Share.Value) })
	var parts []string
	for i, r := range list {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("%d more", len(list)-3))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %.0f %%", r.Name, r.Share.Value*100))
	}
	if len(parts) == 0 {
		return "never"
	}
	return strings.Join(parts, ", ")
}

func (a *Answer) vanishing() *document.Table {
	t := &document.Table{Columns: document.Headings("policy").Names("extra CPU time")}
	for _, v := range a.Vanishing {
		t.Rows = append(t.Rows, textRow(v.Policy, a.vanishes(v)))
	}
	return t
}

func (a *Answer) points() *document.Table {
	t := &document.Table{Columns: document.Headings("policy", "load", "ratio of CPU time")}
	for _, v := range a.Vanishing {
		for _, p := range v.Points {
			t.Rows = append(t.Rows, textRow(v.Policy, percent(p.Load), p.Ratio.Brief()))
		}
	}
	return t
}

func (a *Answer) sensitivity() *document.Table {
	t := &document.Table{Columns: document.Headings("unknown").Figures("range").Names("value: ratio [interval]"),
		Lead: fmt.Sprintf("CPU time of %s against %s%s. Each row changes one unknown; the assumed value comes first.",
			a.focus().String(), a.Baseline.Name, at(a.Comparisons[0]))}
	for _, i := range a.Sensitivity {
		var values, ratios, none []string
		for _, s := range i.Settings {
			if !s.Ratio.Known() {
				none = append(none, s.Value+": no ratio ("+s.Note+")")
				continue
			}
			values, ratios = append(values, s.Value), append(ratios, s.Value+": "+s.Ratio.Brief())
		}
		moved, text := fmt.Sprintf("%.2f", i.Range), strings.Join(append(ratios, none...), ", ")
		switch {
		case i.Range < 0.005 && len(values) > 1:
			text = strings.Join(append([]string{"no difference: " + strings.Join(values, ", ")}, none...), "; ")
		case math.IsInf(i.Range, 1):
			moved = "all"
		}
		t.Rows = append(t.Rows, textRow(i.Parameter, moved, text))
	}
	return t
}

func (a *Answer) assumptions() (out document.List) {
	for _, x := range a.Assumptions {
		out = append(out, document.Line{Text: fmt.Sprintf("%s %s = %s: %s", x.Of, x.Name, x.Value, x.Source)})
	}
	return out
}
