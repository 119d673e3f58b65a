package settings

import (
	"errors"
	"fmt"
	"slices"

	"hostlab/internal/document"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

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
