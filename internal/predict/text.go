package predict

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"hostlab/internal/model"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// TextOptions say how WriteText lays out its lines.
type TextOptions struct {
	Width int // columns; 0 is 80
	Color bool
	HTML  string // name of the report that was written, or ""
}

// WriteText prints the answer for a terminal: the sentence first, then what it
// rests on.
func WriteText(w io.Writer, a *Answer, o TextOptions) error {
	t := &text{screen.NewPrinter(w, o.Width, o.Color), a}
	if h := a.Machine.HostDecides; h != nil {
		t.Text("", screen.Yellow, h.Text())
		for _, s := range h.Ask {
			t.Hang("- ", "", s)
		}
		t.Raw("")
	}
	t.Text("", screen.Bold, a.Sentence())
	if d := a.depends(); d != "" {
		t.Text("", "", d)
	}
	for _, s := range a.Warnings {
		t.Hang("! ", screen.Yellow, s)
	}
	t.Head("case")
	t.Hang("  host      ", "", machineLine(a.Machine.Machine))
	t.Hang("  workload  ", "", workloadLine(a.Workload.Workload))
	if l := recordLine(a); l != "" {
		t.Hang("  record    ", "", l)
	}
	t.Hang("  evidence  ", "", fmt.Sprintf("simulated: %d replications on %d CPUs with common random numbers, seed %d; intervals at 95 %%", a.Options.Replications, a.Machine.CPUs(), a.Options.Seed))
	for _, c := range a.Comparisons {
		t.comparison(c)
	}
	t.Raw("")
	t.Text("  ", screen.Dim, "Behind each ratio to "+a.Baseline.Name+": its interval; in the lower tables half of that one's width (+-). perf: mean frequency "+
		"while busy, % of nominal (Windows: % Processor Performance). ramp: from a slice's start on an idle CPU to the highest frequency, mean over phases of the check interval.")
	t.residency()
	t.vanishing()
	t.sensitivity()
	t.sweep()
	t.assumptions()
	t.end(o)
	return t.Err()
}

type text struct {
	*screen.Printer
	a *Answer
}

// Columns of the tables.
const (
	nameWidth  = 17
	tableWidth = 8
)

// name is the label of a row. One too long for its column, as of a policy with
// parameters, takes lines of its own above the row.
func (t *text) name(s string) string {
	s = screen.Clean(s)
	if utf8.RuneCountInString(s) <= nameWidth {
		return screen.Pad("  "+s, nameWidth+2)
	}
	for _, l := range screen.Wrap(s, t.Width-4) {
		t.Raw("  " + l)
	}
	return screen.Pad("", nameWidth+2)
}

func (t *text) comparison(c model.Comparison) {
	title := "result"
	if l := at(c); l != "" {
		title = strings.TrimPrefix(l, " at ")
	}
	t.Head(title)
	t.Raw(t.Style(screen.Dim, screen.Pad("", nameWidth+2)+" step time                    CPU seconds a step"))
	base := c.Baseline
	t.row(base, func(r model.Response) string {
		e := base.Responses[r]
		return screen.Pad(fmt.Sprintf(" %s +-%.1f %%", result.Format(e.Mean, unitOf(r)), half(e)), 29)
	}, model.StepTime, Headline)
	for _, r := range c.Rows {
		if len(r.Responses) == 0 {
			t.Hang(t.name(label(r))+" ", "", reason(r))
			continue
		}
		t.row(r, func(x model.Response) string {
			return screen.Pad(fmt.Sprintf(" %s %s %s", screen.Pad(result.Format(r.Responses[x].Mean, unitOf(x)), tableWidth), screen.Pad(times(r.Ratio[x]), 6), interval(r.Ratio[x])), 29)
		}, model.StepTime, Headline)
	}
	t.Raw(t.Style(screen.Dim, screen.Pad("", nameWidth+2)+" p95        p99        throughput joules     perf    ramp"))
	ratios := []model.Response{model.StepTimeP95, model.StepTimeP99, model.Throughput, model.JoulesPerStep}
	for i, r := range append([]model.Row{base}, c.Rows...) {
		if len(r.Responses) == 0 {
			continue
		}
		line := t.name(label(r))
		for _, x := range ratios {
			cell := plusMinus(r.Ratio[x])
			if i == 0 {
				cell = result.Format(r.Responses[x].Mean, unitOf(x))
			}
			line += screen.Pad(" "+cell, 11)
		}
		line += screen.Pad(" "+percentOf(r.Responses[model.Performance]), 8) + " " + rampText(r.Responses)
		t.Raw(line)
	}
	for _, w := range shared(c) {
		t.Hang("  ! ", screen.Yellow, w)
	}
}

func (t *text) row(r model.Row, cell func(model.Response) string, which ...model.Response) {
	line := t.name(label(r))
	for _, x := range which {
		line += cell(x)
	}
	t.Raw(line)
}

// half is half of an estimate's interval in % of it.
func half(e model.Estimate) float64 { return 50 * (e.High - e.Low) / e.Mean }

func percentOf(e model.Estimate) string {
	if e.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", e.Mean*100)
}

func rampText(m map[model.Response]model.Estimate) string {
	e, ok := m[model.RampTime]
	switch {
	case !ok:
		return "-"
	case math.IsInf(e.Mean, 1):
		return "never"
	case e.Mean == 0:
		return "0 ms"
	}
	return result.Format(e.Mean, "s")
}

func unitOf(r model.Response) string {
	for _, i := range model.Responses() {
		if i.Name == r {
			return i.Unit
		}
	}
	return ""
}

// digits are what warnings of one kind differ by.
var digits = regexp.MustCompile(`[\d.]+`)

// shared are the warnings of rows that have figures, each kind once, in the words of
// the row that says the largest number, with whose they are.
func shared(c model.Comparison) (out []string) {
	type kind struct {
		text string
		who  []string
	}
	var order []string
	kinds := map[string]*kind{}
	for _, r := range append([]model.Row{c.Baseline}, c.Rows...) {
		if len(r.Responses) == 0 {
			continue
		}
		for _, w := range r.Warnings {
			key := digits.ReplaceAllString(w, "#")
			k := kinds[key]
			if k == nil {
				k = &kind{text: w}
				kinds[key], order = k, append(order, key)
			}
			if number := digits.FindString(w); len(number) > len(digits.FindString(k.text)) || number > digits.FindString(k.text) {
				k.text = w
			}
			k.who = append(k.who, label(r))
		}
	}
	for _, key := range order {
		out = append(out, strings.Join(kinds[key].who, ", ")+": "+kinds[key].text)
	}
	return out
}

func (t *text) residency() {
	c := t.a.Comparisons[0]
	t.Head("residency" + at(c))
	for _, r := range append([]model.Row{c.Baseline}, c.Rows...) {
		if len(r.Responses) == 0 {
			continue
		}
		t.Hang(t.name(label(r))+" ", "", "busy: "+states3(r.PStates)+"; idle: "+states3(r.IdleStates))
	}
}

// states3 names the states with the largest shares.
func states3(list []model.Residency) string {
	list = slices.DeleteFunc(slices.Clone(list), func(r model.Residency) bool { return !(r.Share.Mean >= 0.005) })
	slices.SortStableFunc(list, func(a, b model.Residency) int {
		switch {
		case a.Share.Mean > b.Share.Mean:
			return -1
		case a.Share.Mean < b.Share.Mean:
			return 1
		}
		return 0
	})
	var parts []string
	for i, r := range list {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("%d more", len(list)-3))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %.0f %%", r.Name, r.Share.Mean*100))
	}
	if len(parts) == 0 {
		return "never"
	}
	return strings.Join(parts, ", ")
}

func (t *text) vanishing() {
	if len(t.a.Vanishing) == 0 {
		return
	}
	t.Head("where the effect vanishes")
	for _, v := range t.a.Vanishing {
		t.Hang(t.name(v.Policy)+" ", "", t.a.vanishes(v))
	}
}

func (t *text) sensitivity() {
	if len(t.a.Sensitivity) == 0 {
		return
	}
	c := t.a.Comparisons[0]
	t.Head("what the answer depends on")
	t.Text("  ", screen.Dim, "CPU seconds of "+t.a.focus().String()+" against "+t.a.Baseline.Name+at(c)+", with one unknown changed at a time; the value assumed comes first.")
	rows := [][]string{{"unknown", "range", "value: ratio [interval]"}}
	styles := []string{screen.Dim}
	for _, i := range t.a.Sensitivity {
		var parts []string
		if i.Range < 0.005 {
			for _, s := range i.Settings {
				parts = append(parts, s.Value)
			}
			rows, styles = append(rows, []string{i.Parameter, rangeText(i.Range), "no difference: " + strings.Join(parts, ", ")}), append(styles, "")
			continue
		}
		for _, s := range i.Settings {
			p := s.Value + ": " + settingText(s)
			if s.Ratio.N > 0 {
				p += " " + interval(s.Ratio)
			}
			parts = append(parts, p)
		}
		rows = append(rows, []string{i.Parameter, rangeText(i.Range), strings.Join(parts, ", ")})
		styles = append(styles, "")
	}
	t.Table([]int{22, 5, t.Width - 33}, rows, styles)
}

func rangeText(r float64) string {
	if math.IsInf(r, 1) {
		return "all"
	}
	return fmt.Sprintf("%.2f", r)
}

func (t *text) sweep() {
	m := t.a.Map
	if m == nil {
		return
	}
	t.Head("map: loads and slices")
	t.Text("  ", screen.Dim, "CPU seconds of "+m.Policy+" against "+m.Baseline+", by load and mean length of a slice; waits scale with slices.")
	line := "  load   "
	for _, s := range m.Slices {
		line += fmt.Sprintf("%8s", strings.ReplaceAll(shortSeconds(s), " ", ""))
	}
	t.Raw(t.Style(screen.Dim, line))
	for i, l := range m.Loads {
		line := screen.Pad("  "+percent(l), 9)
		for _, e := range m.Ratios[i] {
			cell := "-"
			if e.N > 0 {
				cell = times(e)
			}
			line += fmt.Sprintf("%8s", cell)
		}
		t.Raw(line)
	}
}

func shortSeconds(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%g ms", s*1e3)
	}
	return fmt.Sprintf("%g s", s)
}

func (t *text) assumptions() {
	t.Head("assumptions")
	t.Text("  ", screen.Dim, "Nobody has measured these for this case, or no vendor documents them.")
	of := ""
	for _, x := range t.a.Assumptions {
		if x.Of != of {
			t.Raw("  " + x.Of)
			of = x.Of
		}
		t.Hang("    ", "", x.Name+" = "+x.Value+": "+x.Source)
	}
}

func (t *text) end(o TextOptions) {
	t.Head("next")
	t.Text("  ", "", "To test this on this host: "+t.a.TestNote())
	for _, l := range screen.Commands(t.a.TestCommand(), t.Width-4) {
		t.Raw("    " + l)
	}
	if o.HTML != "" {
		t.Hang("  Report: ", "", o.HTML)
	}
}

// machineLine describes a machine in a line.
func machineLine(m model.Machine) string {
	s := fmt.Sprintf("%s: %d x %d cores", m.Name, m.Sockets, m.CoresPerSocket)
	if m.ThreadsPerCore > 1 {
		s += fmt.Sprintf(" x %d threads", m.ThreadsPerCore)
	}
	s += ", " + hz(m.PStates[0])
	if n := len(m.PStates); n > 1 {
		s += fmt.Sprintf(" to %s in %d steps", hz(m.PStates[n-1]), n)
	}
	if n := len(m.Turbo); n > 0 {
		s += fmt.Sprintf(", turbo %s (all cores %s)", hz(m.Turbo[0].Hz), hz(m.Turbo[n-1].Hz))
	}
	if m.Fixed > 0 {
		s += ", held at " + hz(m.Fixed) + " by firmware"
	}
	return s + ", one frequency for each " + string(m.Domain)
}

// recordLine sets the load of a record beside the one that was simulated for it.
func recordLine(a *Answer) string {
	if a.Workload.Watched == 0 {
		return ""
	}
	s := fmt.Sprintf("load of %s on %d CPUs", percent(a.Workload.Load), a.Workload.Watched)
	for i, c := range a.Comparisons {
		between := ", "
		if i == 0 {
			between = "; simulated here, under " + a.Baseline.Name + ": "
		}
		s += between + percent(c.Baseline.Responses[model.Utilisation].Mean)
	}
	return s + fmt.Sprintf(" of %d CPUs busy", a.Machine.CPUs())
}

// workloadLine describes a workload in a line.
func workloadLine(w model.Workload) string {
	s := w.Name + ": "
	switch w.Kind {
	case model.Dialog:
		s += fmt.Sprintf("steps of %d x %s CPU", w.Slices, distText(w.Slice))
		if w.Slices > 1 {
			s += fmt.Sprintf(" and %d x %s wait", w.Slices-1, distText(w.Wait))
		}
		if w.Users > 0 {
			s += fmt.Sprintf(", closed: %d users thinking %s", w.Users, distText(w.Think))
		} else {
			s += ", open: random arrivals"
		}
	case model.Batch:
		s += fmt.Sprintf("%d jobs of %s CPU each in slices of %s with waits of %s", w.Users, seconds(w.Work), distText(w.Slice), distText(w.Wait))
	case model.Query:
		s += fmt.Sprintf("one query of %d workers with %s CPU each, in slices of %s with waits of %s", w.Users, seconds(w.Work), distText(w.Slice), distText(w.Wait))
	case model.Commit:
		s += fmt.Sprintf("%d writers that compute %s, commit to a device of %s and think %s", w.Users, distText(w.Slice), distText(w.Device), distText(w.Think))
	}
	if w.MemoryShare > 0 {
		s += fmt.Sprintf(", %s of the work does not scale with frequency", percent(w.MemoryShare))
	}
	return s + ", placed " + string(w.Placement)
}

// distText describes a distribution by its mean; values of a record are many.
func distText(d model.Dist) string {
	switch {
	case d.IsZero():
		return "0 s"
	case d.Kind == model.DistEmpirical:
		return fmt.Sprintf("%s (%d values)", seconds(d.Mean), len(d.Values))
	case d.Kind == model.DistFixed || d.Kind == "":
		return seconds(d.Mean)
	case d.CV > 0:
		return fmt.Sprintf("%s (%s, cv %.2g)", seconds(d.Mean), d.Kind, d.CV)
	}
	return fmt.Sprintf("%s (%s)", seconds(d.Mean), d.Kind)
}
