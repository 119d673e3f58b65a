package effects

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/picture"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

//go:embed figures.css
var style []byte

// topSentences is how many sentences of the answer one experiment has; the table of its
// effects has all.
const topSentences = 6

// method says how an effect is estimated and judged.
const method = "Every block holds each combination of levels once, in random order. Effects are estimated within blocks " +
	"(Hodges and Lehmann, on logarithms for ratios), with intervals from an exact signed-rank test that hold for all primary " +
	"effects and all declared looks together. Inside the practical margin an effect is none; beyond it, it costs; across it, " +
	"nothing is decided. Void and failed runs were queued again in their block."

var verdictTones = map[analysis.Verdict]document.Tone{
	analysis.CostsMore: document.Caution, analysis.CostsLess: document.Notice, analysis.NoEffect: document.Good,
}

// Document is the report of a set: of one experiment, or of several beside each other.
func (s *Set) Document() *document.Document {
	data := newData(s)
	d := &document.Document{Name: "experiment", Data: data, PageData: data.small(), Style: style,
		Footer: "hostlab " + s.Version}
	if len(s.Reports) == 1 {
		r := &s.Reports[0]
		x := r.head()
		d.Title, d.Answer, d.About, d.Warnings = cmp.Or(x.Title, x.Name), r.answer(), r.about(), r.warnings()
		if h := x.Host["hostname"]; h != "" {
			d.Title += " on " + h
		}
		d.When = x.Started
		d.Sections = r.sections("e0")
	} else {
		d.Title = fmt.Sprintf("%d experiments compared", len(s.Reports))
		d.Answer = s.beside()
		d.About = []string{fmt.Sprintf("Comparison of %d experiments: each effect is judged by itself, nothing is pooled.",
			len(s.Reports))}
		d.Sections = s.compared()
		for i := range s.Reports {
			d.Sections = append(d.Sections, s.Reports[i].compared(fmt.Sprintf("Experiment %d", i+1), fmt.Sprintf("e%d", i))...)
		}
	}
	d.Sections = append(d.Sections, document.Titled("Method", document.Line{Text: methodOf(s)}).On(document.Page))
	return d
}

// answer holds the sentences of the headline.
func (r *Report) answer() (out []document.Line) {
	all := verdicts(r)
	for i, v := range all {
		if i == topSentences {
			out = append(out, document.Line{Text: fmt.Sprintf("... and %s; all are in the table below.",
				screen.Count(len(all)-i, "more primary effect")), Tone: document.Quiet})
			break
		}
		out = append(out, document.Line{Text: v + "."})
	}
	return out
}

// about says what ran, where and when, how far it came, and what this host does not have.
func (r *Report) about() []string {
	x := r.head()
	parts := []string{x.Name}
	if x.Title != "" && x.Title != x.Name {
		parts[0] += ": " + x.Title
	}
	if run := x.Parameters["run"]; run != "" { // what a reader would type
		parts = append(parts, "command "+screen.Cut(run, 120))
	} else {
		parts = append(parts, "workload "+x.Workload)
	}
	if h := x.Host["hostname"]; h != "" {
		parts = append(parts, "on "+h)
	}
	out := []string{strings.Join(append(parts, seenText(r.Analysis)), ", ") + "; " + designText(&x.Design) + ".",
		stateText(r.Analysis) + "; " + runsText(r.Analysis.Runs) + "."}
	if s := r.Analysis.When(); s != "" {
		out = append(out, s+".")
	}
	if s := result.AbsentText(x.Absent); s != "" {
		out = append(out, "Not on this host: "+s+".")
	}
	return out
}

// designText says how runs were arranged: "randomised complete blocks".
func designText(d *result.Design) string {
	kind := map[result.DesignKind]string{result.RCBD: "randomised complete blocks", result.SplitPlot: "split plot",
		result.Switchback: "pairs of periods in random order"}[d.Kind]
	kind = cmp.Or(kind, string(d.Kind))
	if d.Repeats > 1 {
		kind += fmt.Sprintf(", %d repeats", d.Repeats)
	}
	return kind
}

// compared are the sections of an experiment that stands beside others: its answer begins
// them. Headings have no directory, as a terminal has them in capitals.
func (r *Report) compared(name, key string) []document.Section {
	own := document.Lines(document.Quiet, "Recorded in "+r.Dir+".")
	for _, l := range r.answer() {
		l.Tone = document.Strong
		own = append(own, l)
	}
	own = append(own, document.Lines(document.Quiet, r.about()...)...)
	out := []document.Section{document.Titled(name, append(own, document.Caution.Points(r.warnings()...))...)}
	for _, s := range r.sections(key) {
		if s.Where != document.Terminal { // each report has its own page
			s.Title = name + ": " + s.Title
			out = append(out, s)
		}
	}
	return out
}

// sections are what stands below the answer, in the order in which it is read. The ids of
// pictures begin with key.
func (r *Report) sections(key string) []document.Section {
	a, x := r.Analysis, r.head()
	var floors, takes document.List
	for i := range a.AA {
		floors = append(floors, document.Line{Text: aaText(&a.AA[i]) + "."})
	}
	for i := range a.Effects {
		e := &a.Effects[i]
		if a.Ended == result.Harmed {
			break // nobody is to go on
		}
		var says []string
		if need := needText(e); need != "" && e.Primary() {
			says = append(says, need)
		}
		if e.Finds > 0 && e.Verdict != analysis.CostsMore && e.Verdict != analysis.CostsLess {
			says = append(says, findsText(e))
		}
		if len(says) > 0 {
			takes = append(takes, document.Line{Text: label(&e.Response) + ", " + e.Contrast.String() + ": " +
				strings.Join(says, "; ") + "."})
		}
	}
	var pictures []document.Block
	for _, f := range figures(key, r) {
		pictures = append(pictures, document.Figure{Figure: f})
	}
	var left document.Line
	if n := r.left(); n > 0 {
		left = document.Line{Text: screen.Count(n, "secondary effect") + " in --format html and json.", Tone: document.Quiet}
	}
	var study document.Commands
	if len(r.Study) > 0 {
		study = document.Commands{{Line: studyText(r.Study)}}
	}
	return append(append(append(r.section(key), r.time()), r.effects()...),
		document.Titled(harmTitle, early(a)),
		document.Titled(floorTitle, floors),
		document.Titled(takesTitle, takes),
		document.Titled("Pictures", pictures...).On(document.Page),
		document.Titled("Next", r.steps()),
		document.Titled("More", left, r.toSend()).On(document.Terminal),
		document.Titled("Host, workload and design", facts(x)).On(document.Page).Closed(),
		document.Titled("The study file", study).On(document.Page).Closed())
}

// left counts the effects that a terminal does not show.
func (r *Report) left() (n int) {
	for i := range r.Analysis.Effects {
		if abridged(r.head(), &r.Analysis.Effects[i]) {
			n++
		}
	}
	return n
}

// effects are the tables of effects with what their figures mean.
func (r *Report) effects() []document.Section {
	a, x := r.Analysis, r.head()
	var inter, rest, main []*analysis.Effect
	for i := range a.Effects {
		switch e := &a.Effects[i]; {
		case interaction(e):
			inter = append(inter, e)
		case abridged(x, e):
			rest = append(rest, e)
		default:
			main = append(main, e)
		}
	}
	return []document.Section{
		document.Titled(effectsTitle, effectTable(x, "An effect counts where its whole interval lies beyond "+leastOf(main)+".", main)),
		document.Titled("Other effects", effectTable(x, "Secondary effects, which the section above has at a glance.",
			rest)).On(document.Page).Closed(),
		document.Titled("Interactions", effectTable(x, interactionLead(inter), inter)),
		document.Titled(intervalsTitle, document.Lines(document.Quiet, footnotes(x, a)...)...)}
}

// abridged reports whether secondary effects stand back: a section of the report has them
// at a glance.
func abridged(x *result.Experiment, e *analysis.Effect) bool {
	_, known := extras[x.Section]
	return known && !e.Primary() && !interaction(e)
}

// leastOf is the margin of all effects, or says that each has its own.
func leastOf(all []*analysis.Effect) string {
	said := "its margin"
	for i, e := range all {
		p := &e.Response
		switch text := within(p.Margin, p); {
		case i == 0:
			said = text
		case text != said:
			return "its margin"
		}
	}
	return said
}

// effectTable has a row for each effect.
func effectTable(x *result.Experiment, lead string, all []*analysis.Effect) *document.Table {
	t := &document.Table{Lead: lead, Columns: append(document.Headings("effect", "change", "n", "margin"),
		document.Column{Head: "verdict"})}
	for _, e := range all {
		p := &e.Response
		name := document.Text(label(p) + ": " + e.Contrast.String())
		if !interaction(e) {
			name.Text += " " + against(x, e)
		}
		change := changeCell(e)
		if known(e.Base.Value, e.Level.Value) && !interaction(e) {
			change.More = append(change.More, "from "+between(result.Estimate{Low: e.Base.Value, High: e.Level.Value},
				func(v float64) string { return result.Format(v, p.Unit) }))
		}
		var noise []string
		if known(e.NoiseFloor) {
			noise = []string{"noise " + within(e.NoiseFloor, p)}
		}
		row := t.Add(name, change, countCell(e), document.Number(p.Margin, within(p.Margin, p), noise...), verdictCell(x, e))
		row.Notes = document.Quiet.Points(notes(e)...)
	}
	return t
}

// opposed reports an effect within blocks that goes the other way than the medians of all runs, as drift may have it.
func opposed(e *analysis.Effect) bool {
	return known(e.Base.Value, e.Level.Value) && !interaction(e) && e.Value*(e.Level.Value-e.Base.Value) < 0
}

func changeCell(e *analysis.Effect) document.Cell {
	return document.Number(e.Value, amount(e.Value, &e.Response), span(e.Low, e.High, &e.Response))
}

func countCell(e *analysis.Effect) document.Cell {
	return document.Number(float64(e.N), screen.Plural(e.N, strings.TrimSuffix(e.Unit, "s"), e.Unit))
}

func verdictCell(x *result.Experiment, e *analysis.Effect) document.Cell {
	return document.Cell{Text: verdictWord(e), More: []string{evidence(x, e)}, Tone: verdictTones[e.Verdict]}
}

// figures in the order in which the page shows them; those without data are left
// out.
func figures(key string, r *Report) []picture.Figure {
	a, x := r.Analysis, r.head()
	out := effectFigures(key, x, a.Effects)
	add := func(f picture.Figure, ok bool) {
		if ok {
			out = append(out, f)
		}
	}
	for i, resp := range shown(x) {
		add(runsFigure(fmt.Sprintf("%s-runs%d", key, i), x, r.Runs, &resp))
	}
	out = append(out, interactionFigures(key, x, r.Runs, a.Effects)...)
	for i, resp := range shown(x) {
		add(distributionFigure(fmt.Sprintf("%s-dist%d", key, i), x, r.Runs, &resp))
	}
	add(latencyFigure(key+"-latency", x, r.Runs))
	add(aaFigure(key, a.AA))
	return out
}

// facts are the host's fingerprint and what ran.
func facts(x *result.Experiment) (out document.Pairs) {
	add := func(name, value string) { out = append(out, document.Pair{Name: name, Value: value}) }
	for _, f := range analysis.Facts(x) {
		add(f.What, f.Value)
	}
	for _, f := range x.Machine.Facts() {
		add("machine "+f[0], f[1])
	}
	for _, p := range x.Places {
		add("machine "+p.Factor+" "+p.Level, p.On)
	}
	for _, f := range x.Factors {
		add("how "+f.Name+" changes", f.Kind+", "+string(f.Change))
	}
	add("seed", fmt.Sprint(x.Design.Seed))
	add("study file", x.File)
	add("experiment", x.ID)
	return out
}

// studyText is the study file, safe to show; a long one is cut.
func studyText(b []byte) string {
	const most = 64 << 10
	s := string(b[:min(len(b), most)])
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = screen.Clean(strings.ReplaceAll(lines[i], "\t", "    "))
	}
	s = strings.Join(lines, "\n")
	if len(b) > most {
		s += fmt.Sprintf("\n# ... and %d bytes more", len(b)-most)
	}
	return s
}
