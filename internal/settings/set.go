package settings

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

// Preview is what a plan would change; notes name what is left out of it. dry: nothing will be changed; refused: nor
// can it be.
func Preview(sys *setting.System, p *setting.Plan, notes []string, data any, dry, refused bool) *document.Document {
	now := "Nothing to change."
	if n := len(p.Steps); n > 0 {
		now = screen.Count(n, "object") + " to change."
		switch {
		case dry:
			now = screen.Count(n, "object") + " would change. Nothing was changed: --dry-run."
		case refused:
			now = screen.Count(n, "object") + " could change; nothing was changed."
		}
	} else if refused {
		now = "Nothing was changed."
	}
	same, sides := "", ""
	if n := len(p.Same); n > 0 {
		same = screen.Count(n, "object") + " " + map[bool]string{true: "has", false: "have"}[n == 1] + " the value already."
	}
	if len(p.Moves) > 0 {
		sides = "Side effect: the kernel may also change " + strings.Join(p.Moves, ", ") + "; revert restores it."
	}
	d := newDocument("set", data, now, same, sides)
	if lines := skipLines(sys, p.Skipped); len(lines) > 1 { // of one, the error says it
		notes = append(lines, notes...)
	}
	for _, n := range notes {
		d.Warnings = append(d.Warnings, "left out: "+n)
	}
	d.Sections = []document.Section{document.Titled("Now -> as asked", plannedPairs(sys, p.Outcomes()))}
	return d
}

// LeftOut is what cannot be set, and why or where that stands. What this host does not have at all is no
// object.
func LeftOut(sys *setting.System, p *setting.Plan, json bool) string {
	lines := skipLines(sys, p.Skipped)
	if len(lines) == 1 {
		return lines[0]
	}
	where := "see 'left out'"
	if json {
		where = "see .skipped"
	}
	absent := 0
	for _, s := range p.Skipped {
		if s.Path == "" {
			absent++
		}
	}
	var what []string
	if absent > 0 {
		what = append(what, screen.Count(absent, "setting")+" that this host does not have")
	}
	if n := len(p.Skipped) - absent; n > 0 {
		what = append(what, screen.Count(n, "object"))
	}
	return strings.Join(what, " and ") + " (" + where + ")"
}

// Meanwhile notes at outcomes what has changed since the plan was shown, and adds what another program has
// set to its value since then.
func Meanwhile(done []setting.Outcome, saw, p *setting.Plan) []setting.Outcome {
	was := map[string]setting.Step{}
	for _, s := range slices.Concat(saw.Steps, saw.Same) {
		was[s.Path] = s
	}
	for i, d := range done {
		if s, ok := was[d.Path]; ok && s.From != d.From && d.Reason == "" && d.Result != setting.Unchanged &&
			d.Result != setting.Restored {
			done[i].Reason = "another program has changed it since the above was shown, from " +
				Shown(s.Setting, s.Object, s.From)
		}
	}
	for _, s := range p.Same {
		if old, ok := was[s.Path]; ok && old.From != s.From {
			done = append(done, setting.Outcome{Step: s, Read: s.To, Result: setting.Unchanged,
				Reason: Shown(s.Setting, s.Object, s.To) + " already: another program has set it since the above was shown"})
		}
	}
	return done
}

// Beside is what has changed with the settings of a plan.
func Beside(j *setting.Journal, p *setting.Plan) []setting.Outcome {
	return slices.DeleteFunc(j.Verify(), func(o setting.Outcome) bool {
		return o.Result != setting.Moved || !slices.ContainsFunc(p.Steps,
			func(s setting.Step) bool { return o.With == s.Setting })
	})
}

// HeldNames are the settings of a plan that last as long as they are held.
func HeldNames(p *setting.Plan) (names []string) {
	for _, step := range p.Steps {
		if s, ok := setting.Find(step.Setting); ok && s.Held && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// Set says what became of each object, and how to go on, with the flag of a tree in root. failed: all was undone.
func Set(sys *setting.System, done []setting.Outcome, failed bool, root string, data any) *document.Document {
	n := Tally(done)
	set := n[setting.Changed] + n[setting.Rounded]
	for _, d := range done {
		if d.Result == setting.Changed && heldSetting(d.Setting) {
			set-- // it ends by itself
		}
	}
	d := newDocument("set", data)
	d.Sections = []document.Section{document.Titled("Objects", outcomePairs(sys, done))}
	switch {
	case failed:
		d.Answer = []document.Line{{Text: "Not set."}}
	case set > 0:
		text := screen.Count(set, "object") + " set"
		if r := n[setting.Rounded]; r > 0 {
			text += fmt.Sprintf(", %d of them not exactly as asked", r)
		}
		if root != "" {
			root = " --root " + screen.Operand(root)
		}
		d.Answer = []document.Line{{Text: text + "."}}
		d.Sections = append(d.Sections, document.Section{Title: "Next", Blocks: []document.Block{document.Commands{
			{Why: "check that they stay", Line: "hostlab verify" + root},
			{Why: "restore what was there", Line: "hostlab revert" + root}}}})
	default:
		d.Answer = []document.Line{{Text: "Nothing was set."}}
	}
	return d
}
