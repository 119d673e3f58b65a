package settings

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
		case refused:
			now = screen.Count(n, "object") + " could change; nothing was changed."
		case dry:
			now = screen.Count(n, "object") + " would change. Nothing was changed: --dry-run."
			switch barred := p.Barred(); barred {
			case 0:
			case n:
				now += " It takes root to change " + map[bool]string{true: "it.", false: "them."}[n == 1]
			default:
				now += fmt.Sprintf(" It takes root to change %d of them.", barred)
			}
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

// Revertible shows what would be put back. Nothing is promised: another program may
// change a value before. The answer ends with more.
func Revertible(sys *setting.System, v *setting.View, owner string, reach setting.Reach,
	more string) *document.Document {
	var list, rest []setting.Outcome
	for _, u := range v.Preview(owner, reach) {
		switch {
		case u.Result == setting.Planned:
			list = append(list, setting.Outcome{Step: u.Step, Result: setting.Planned})
		case u.Result == setting.Unchanged && u.Reason == "":
			list = append(list, setting.Outcome{Step: u.Step, Result: setting.Same})
		default:
			rest = append(rest, u)
			list = append(list, setting.Skip(u.Setting, u.Object, textOf(u)))
		}
	}
	var accepted error // what --force passes over
	damage, struck := "", ""
	switch problem := v.Problem(); {
	case problem == nil, problem.Kind == setting.OtherHost: // all of it could be read
	default:
		accepted = errors.New(problem.Found() + ". What the damaged part has changed would NOT be put back")
		damage = accepted.Error() + "."
	}
	if n := Tally(rest)[setting.Forgotten]; n > 0 {
		struck = fmt.Sprintf("'hostlab revert' strikes %s off the journal and writes nothing there.",
			screen.Count(n, "change"))
	}
	d := newDocument("revert", NewChange(Plan, list, accepted), "Nothing was changed: --dry-run."+more, struck, unended(v),
		damage)
	d.Sections = []document.Section{document.Titled("Now -> put back", plannedPairs(sys, list)),
		document.Titled("Not put back", outcomePairs(sys, rest))}
	return d
}

// Reverted says what was put back, of a journal as it was read before.
func Reverted(sys *setting.System, done []setting.Outcome, v *setting.View, forced bool,
	failed error) *document.Document {
	d := newDocument("revert", NewChange(DoRevert, done, failed), sum(done, forced), unended(v))
	d.Sections = []document.Section{document.Titled("Objects",
		outcomePairs(sys, slices.DeleteFunc(slices.Clone(done), asBefore)))}
	return d
}

// Nothing says why nothing is put back, or that entries were dropped.
func Nothing(action Action, text string, skipped []setting.Outcome, failed error) *document.Document {
	return newDocument("revert", NewChange(action, skipped, failed), text)
}

// unended says of a journal whose last set has no end how that may be; "": it has one.
func unended(v *setting.View) string {
	if p := v.Trouble(); p == nil || p.Kind != setting.Unended {
		return ""
	}
	return "The last set of changes had no end: hostlab was killed in it, or the journal was cut."
}

// asBefore reports an object that had its old value already, such as one that a change might have
// disturbed and did not.
func asBefore(o setting.Outcome) bool {
	return (o.Result == setting.Restored || o.Result == setting.Unchanged) && o.From == o.To
}

// sum says how it ended.
func sum(done []setting.Outcome, forced bool) string {
	already := 0
	for _, d := range done {
		if asBefore(d) {
			already++
		}
	}
	n := Tally(done)
	text := screen.Count(n[setting.Restored]+n[setting.Unchanged]-already, "object") + " put back"
	if f := n[setting.Forgotten]; f > 0 {
		text += fmt.Sprintf(", %d gone with the reboot and struck off the journal", f)
	}
	if left := n[setting.Foreign] + n[setting.Gone] + n[setting.Failed]; left > 0 {
		text += fmt.Sprintf(", %d not", left)
	}
	text += "."
	if n[setting.Foreign] > 0 && !forced {
		text += " --force also puts back what another program has changed; --forget leaves it."
	}
	return text
}

// Schema is the version of these documents' forms, which docs/schema/settings.schema.json describes.
const Schema = 1

// Setting is one, as settings prints it.
type Setting struct {
	Name    string          `json:"name"`             // as set takes it
	Sysctl  string          `json:"sysctl,omitempty"` // vm.swappiness, which set takes too
	Title   string          `json:"title"`
	Values  string          `json:"values"`            // that may be set, for people
	Held    bool            `json:"held"`              // in force only as long as set runs
	Missing string          `json:"missing,omitempty"` // why the host has none; objects is empty then
	Objects []setting.State `json:"objects"`
}

// All is what settings prints with --format json.
type All struct {
	document.Head
	Settings []Setting `json:"settings"`
}

func newList(sys *setting.System, all []setting.Setting) All {
	out := All{document.Head{Kind: "settings", Schema: Schema}, []Setting{}}
	for _, s := range all {
		j := Setting{Name: s.Name, Sysctl: s.Sysctl, Title: s.Title, Values: s.Values, Held: s.Held,
			Objects: []setting.State{}}
		if states, err := s.Read(sys); err != nil {
			j.Missing = err.Error()
		} else {
			j.Objects = states
		}
		out.Settings = append(out.Settings, j)
	}
	return out
}

// rows has one for each object, and for each setting that has none here. Values are the kernel's own text, as in JSON.
func (a All) rows() *document.Table {
	t := &document.Table{Columns: document.Columns{}.Names("setting", "object", "value", "file", "why not")}
	for _, s := range a.Settings {
		if s.Missing != "" {
			t.Add(document.Texts(s.Name, "", "", "", s.Missing)...)
		}
		for _, o := range s.Objects {
			t.Add(document.Texts(s.Name, o.Name, o.Value, o.Path, cmp.Or(o.Problem, o.Fixed))...)
		}
	}
	return t
}

// Change is what set, revert and verify print with --format json.
type Change struct {
	document.Head
	Started  time.Time         `json:"started,omitzero"` // of verify: when it looked
	Action   Action            `json:"action"`
	Outcomes []setting.Outcome `json:"outcomes"`           // one for each object, in the order of writing
	Same     []setting.Outcome `json:"same"`               // had the value already
	Skipped  []setting.Outcome `json:"skipped"`            // could not be changed, or are left, with the reason
	Left     []Left            `json:"left,omitempty"`     // by live experiments, of verify
	Accepted []Accepted        `json:"accepted,omitempty"` // outcomes that are not as set, of verify
	Error    string            `json:"error,omitempty"`
}

// Action is what was asked for. Plan writes nothing: with --dry-run, or where not all could be set.
type Action string

const (
	DoSet    Action = "set"
	DoRevert Action = "revert"
	DoVerify Action = "verify"
	Plan     Action = "plan"
)

// Left is what a live experiment has left.
type Left struct {
	Record  string   `json:"record,omitempty"`  // directory of its record
	Factors []string `json:"factors"`           // that are still changed
	Unknown string   `json:"unknown,omitempty"` // why they are not known
	Text    string   `json:"-"`                 // what it is, and what to type
}

// Accepted is an object that is not as set, and the exception for it.
type Accepted struct {
	Setting string `json:"setting"`
	Object  string `json:"object"`
	Check   string `json:"check"` // that the exception excuses
	Reason  string `json:"reason"`
	Until   string `json:"until"` // the last day
}

func (c Change) rows() *document.Table {
	t := &document.Table{Columns: document.Columns{}.Names("setting", "object", "result", "before", "asked", "after",
		"why")}
	for _, o := range slices.Concat(c.Outcomes, c.Same, c.Skipped) {
		t.Add(document.Texts(o.Setting, o.Name, string(o.Result), o.From, o.To, o.Read, o.Reason)...)
	}
	return t
}

// NewChange is what became of objects, or would.
func NewChange(action Action, list []setting.Outcome, failure error) Change {
	out := Change{Head: document.Head{Kind: "change", Schema: Schema}, Action: action, Outcomes: []setting.Outcome{},
		Same: []setting.Outcome{}, Skipped: []setting.Outcome{}}
	for _, o := range list {
		to := &out.Outcomes
		switch o.Result {
		case setting.Same:
			to = &out.Same
		case setting.Skipped:
			to = &out.Skipped
		}
		*to = append(*to, o)
	}
	if action == DoVerify {
		out.Kind, out.Started = "verify", time.Now()
	}
	if failure != nil {
		out.Error = screen.OneLine(failure)
	}
	return out
}
