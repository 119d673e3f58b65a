package effects

import (
	"fmt"
	"io"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Options say how the text looks.
type Options struct {
	Width int  // columns; 0 means 80
	Color bool // ANSI colours; the caller honours NO_COLOR
}

// The most sentences and effects of one experiment on a terminal; JSON and HTML
// have all.
const (
	topSentences = 6
	tableMin     = 76 // columns in which the table of effects stands
)

var verdictStyle = map[analysis.Verdict]string{
	analysis.CostsMore: screen.Yellow, analysis.CostsLess: screen.Cyan, analysis.NoEffect: screen.Green, analysis.VoidVerdict: screen.Yellow,
}

// WriteText writes the report for a terminal: what is decided first, then the
// figures, what limits them, and what to type next.
func WriteText(w io.Writer, s *Set, opt Options) error {
	t := &term{screen.NewPrinter(w, opt.Width, opt.Color)}
	if len(s.Reports) > 1 {
		t.comparison(s)
	}
	for i := range s.Reports {
		if len(s.Reports) > 1 {
			t.Raw("")
			t.Raw(t.Style(screen.Dim, strings.Repeat("-", t.Width)))
		}
		t.report(&s.Reports[i], len(s.Reports) == 1)
	}
	return t.Err()
}

// term writes the parts of a report.
type term struct{ *screen.Printer }

func (t *term) report(r *Report, alone bool) {
	a, x := r.Analysis, r.head()
	told := verdicts(r)
	for i, v := range told {
		if i == topSentences {
			t.Text("", "", fmt.Sprintf("... and %s; all are in the table below.", screen.Count(len(told)-i, "more primary effect")))
			break
		}
		t.Text("", screen.Bold, v+".")
	}
	t.Raw("")
	t.Text("", screen.Dim, headLine(r))
	t.Text("", screen.Dim, stateText(a)+"; "+runsText(a.Runs)+".")
	if s := seenText(a); s != "" {
		t.Text("", screen.Dim, s)
	}
	if s := absentText(x); s != "" {
		t.Text("", screen.Dim, s)
	}
	for i, w := range r.warnings() {
		if i == 0 {
			t.Raw("")
		}
		t.Hang("! ", screen.Yellow, w)
	}
	if c := r.section(""); c != nil {
		t.content(c)
	}
	var main, inter []analysis.Effect
	left := 0
	for _, e := range a.Effects {
		if interaction(&e) {
			inter = append(inter, e)
		} else if abridged(x) && !primary(&e) {
			left++
		} else {
			main = append(main, e)
		}
	}
	t.effects("Effects", x, main)
	t.effects("Interactions", x, inter)
	for i, n := range append(leftOut(left, len(a.Effects)), footnotes(x, a, left == 0)...) {
		if i == 0 {
			t.Raw("")
		}
		t.Text("  ", screen.Dim, n)
	}
	t.floor(a)
	t.need(a)
	t.next(r, alone)
}

// leftOut says where the effects are that are not shown, in no or one sentence.
func leftOut(left, all int) []string {
	switch left {
	case 0:
		return nil
	case all:
		return []string{fmt.Sprintf("The effects (%d, none primary) are in --format html and json.", all)}
	}
	return []string{fmt.Sprintf("Other effects (%d, not primary) are in --format html and json.", left)}
}

// abridged reports whether effects that are not primary stand back: a section of the
// report tells of them at a glance.
func abridged(x *result.Experiment) bool {
	_, known := extras[x.Section]
	return known
}

// headLine says what ran, where and when.
func headLine(r *Report) string {
	x := r.head()
	parts := []string{x.Name}
	if x.Title != "" {
		parts[0] += ": " + x.Title
	}
	parts = append(parts, "workload "+x.Workload)
	if h := x.Host["hostname"]; h != "" {
		parts = append(parts, "on "+h)
	}
	if !x.Started.IsZero() {
		parts = append(parts, "started "+x.Started.Format("2006-01-02 15:04 MST"))
	}
	return strings.Join(parts, ", ") + "; " + designText(&x.Design)
}

// designText says how runs were arranged: "randomised complete blocks, seed 7".
func designText(d *result.Design) string {
	kind := map[string]string{"rcbd": "randomised complete blocks", "split-plot": "split plot"}[d.Kind]
	if kind == "" {
		kind = d.Kind
	}
	if d.Repeats > 1 {
		kind += fmt.Sprintf(", %d repeats", d.Repeats)
	}
	return fmt.Sprintf("%s, seed %d", kind, d.Seed)
}

func (t *term) effects(title string, x *result.Experiment, all []analysis.Effect) {
	if len(all) == 0 {
		return
	}
	t.Head(title)
	if interaction(&all[0]) {
		t.Text("  ", screen.Dim, interactionLead(pointers(all)))
	}
	if t.Width < tableMin {
		for i := range all {
			t.Hang("  ", verdictStyle[all[i].Verdict], sentence(x, &all[i])+fmt.Sprintf("; margin %s, noise floor %s.", within(all[i].Response.Margin, &all[i].Response), within(all[i].NoiseFloor, &all[i].Response)))
		}
		return
	}
	width := []int{0, 8, 17, 3, 6, 8, 13}
	width[0] = t.Width - 2 - len(width) + 1
	for _, n := range width[1:] {
		width[0] -= n
	}
	rows, styles := [][]string{{"effect", "change", "interval", "n", "margin", "noise", "verdict"}}, []string{""}
	for i := range all {
		e := &all[i]
		r := &e.Response
		what := label(r) + ": " + subject(&e.Contrast)
		if !interaction(e) {
			what += " " + against(x, e)
		}
		rows = append(rows, []string{what, amount(e.Value, r), span(e.Low, e.High, r), fmt.Sprint(e.N), within(r.Margin, r), within(e.NoiseFloor, r),
			verdictWord(e) + ", " + evidence(x, e)})
		styles = append(styles, verdictStyle[e.Verdict])
	}
	t.Table(width, rows, styles)
	for i := range all {
		e := &all[i]
		for _, w := range notes(e) {
			t.Hang("  ! ", "", label(&e.Response)+", "+subject(&e.Contrast)+": "+w)
		}
		if e.Reason != "" && len(e.Limits) == 0 && (e.Verdict == analysis.Unresolved || !primary(e) && e.Verdict == analysis.Inconclusive) {
			t.Hang("  - ", "", label(&e.Response)+", "+subject(&e.Contrast)+": "+e.Reason)
		}
	}
}

func (t *term) floor(a *analysis.Analysis) {
	if len(a.AA) == 0 {
		return
	}
	t.Head("Noise floor (A/A)")
	for i := range a.AA {
		code := ""
		if a.AA[i].Void {
			code = screen.Yellow
		}
		t.Text("  ", code, aaText(&a.AA[i]))
	}
}

func (t *term) need(a *analysis.Analysis) {
	var told []string
	for i := range a.Effects {
		if s := needText(&a.Effects[i]); s != "" && primary(&a.Effects[i]) {
			told = append(told, subject(&a.Effects[i].Contrast)+": "+s+".")
		}
	}
	if len(told) == 0 {
		return
	}
	t.Head("What deciding would take")
	for _, s := range told {
		t.Text("  ", "", s)
	}
}

func (t *term) next(r *Report, page bool) {
	steps := r.next()
	if !page {
		steps = steps[:len(steps)-1]
	}
	if len(steps) == 0 {
		return
	}
	t.Head("Next")
	for _, s := range steps {
		t.Text("  ", screen.Dim, "# "+s.Why)
		for _, l := range screen.Commands(s.Command, t.Width-2) {
			t.Raw("  " + l)
		}
	}
}
