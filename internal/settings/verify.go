package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

// Verified lists what was set, and first what is not as it was.
func Verified(sys *setting.System, list []setting.Outcome, left []Left, excused []Accepted,
	failure error) *document.Document {
	d := verified(sys, list, failure, left, excused)
	for _, a := range excused {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%s: accepted (%s): %s; until %s",
			strings.TrimSpace(a.Setting+" "+a.Object),
			a.Check, strings.TrimSuffix(a.Reason, "."), a.Until))
	}
	if len(left) == 0 {
		return d
	}
	settings := d.Answer
	d.Answer = nil
	for _, l := range left {
		d.Answer = append(d.Answer, document.Line{Text: strings.ToUpper(l.Text[:1]) + l.Text[1:] + "."})
	}
	if len(list) > 0 || failure != nil {
		d.Answer = append(d.Answer, settings...)
	}
	return d
}

func verified(sys *setting.System, list []setting.Outcome, failure error, left []Left,
	excused []Accepted) *document.Document {
	data := NewChange(DoVerify, list, failure)
	data.Left, data.Accepted = left, excused
	if len(list) == 0 && failure != nil {
		return newDocument("verify", data, "Nothing is set, as far as the journal says.")
	}
	if len(list) == 0 {
		return newDocument("verify", data, "Nothing is set: no change by hostlab is in force.")
	}
	var good, bad, beside groups
	for _, v := range list {
		kind := kindOf(sys, v.Setting, v.Object)
		read, to := Shown(v.Setting, v.Object, v.Read), Shown(v.Setting, v.Object, v.To)
		switch v.Result {
		case setting.Unchanged:
			as := ", as set"
			if v.Reason != "" { // its reason names the reboot
				as = ", as set; kept over the reboot since"
			}
			good.add(v.Setting, kind, v.Name, to+as)
		case setting.Rounded:
			good.add(v.Setting, kind, v.Name, read+", as "+keeper(v.Setting)+" made of "+to)
		case setting.Moved:
			beside.add(v.Setting, kind, v.Name, textOf(v))
		case setting.Foreign:
			bad.add(v.Setting, kind, v.Name, read+", no longer "+to+": "+v.Reason)
		default:
			bad.add(v.Setting, kind, v.Name, textOf(v))
		}
	}
	n := 0
	for _, g := range bad {
		n += max(1, len(g.names))
	}
	all := screen.Count(len(list)-Tally(list)[setting.Moved], "object")
	text, struck := all+" as set.", ""
	if n > 0 {
		text = fmt.Sprintf("%d of %s not as set.", n, all)
	}
	if Tally(list)[setting.Forgotten] > 0 {
		struck = "'hostlab revert' takes out of the journal what the reboot has ended."
	}
	d := newDocument("verify", data, text, struck)
	caution := func(*group) document.Tone { return document.Caution }
	d.Sections = []document.Section{document.Titled("Not as set", bad.pairs(caution)),
		document.Titled("As set", good.pairs(plainTone)),
		document.Titled("Changed with them by the kernel", beside.pairs(plainTone))}
	return d
}

// InForce says in a line what is still changed on a machine, or what is wrong with its journal; "" for nothing.
func InForce(v *setting.View) string {
	if p := v.Trouble(); p != nil {
		return screen.Clean(p.Found()) + "; 'hostlab verify' says what is as it was set"
	}
	entries := v.Entries()
	if len(entries) == 0 {
		return ""
	}
	list, at := Changed(entries), entries[0].At.Local().Format("2006-01-02 15:04")
	if len(list) == 0 {
		if n := Tally(v.Verify())[setting.Unchanged]; n > 0 {
			return fmt.Sprintf("what was set on %s is kept over the reboot since, on %s; 'hostlab revert --persisted' puts back",
				at,
				screen.Count(n, "object"))
		}
		return fmt.Sprintf("what was set on %s is gone with the reboot since; 'hostlab revert' strikes it off the journal",
			at)
	}
	what := "hostlab set"
	if e := entries[0]; e.Owner != setting.OwnerSet {
		what = "an experiment's change"
	}
	return fmt.Sprintf("%s of %s is still in force: %s; 'hostlab revert' puts back", what, at,
		screen.Count(len(list), "object"))
}

// Changed is one entry for each object that is still changed: of those that were set, or where
// only these are left, of those that a setting has changed beside it.
func Changed(entries []setting.Entry) []setting.Entry {
	var set, sides []setting.Entry
	add := func(list []setting.Entry, e setting.Entry) []setting.Entry {
		if slices.ContainsFunc(list, func(old setting.Entry) bool { return old.Object.Path == e.Object.Path }) {
			return list // of another owner
		}
		return append(list, e)
	}
	for _, e := range entries {
		switch {
		case e.Forgotten:
		case e.Side != "":
			sides = add(sides, e)
		default:
			set = add(set, e)
		}
	}
	if len(set) == 0 {
		return sides
	}
	return set
}

// Verify verifies the journal of one directory; where nothing is set in it, or it may not be
// read, that of the machine: what root has set is in force for all. Trouble is what is known to be wrong
// with a journal that can be used.
func Verify(sys *setting.System, dir, machine string) (list []setting.Outcome, trouble *setting.Problem, _ error) {
	for _, at := range []string{dir, machine} {
		v, err := setting.Look(sys, at)
		switch {
		case errors.Is(err, fs.ErrPermission) && at != machine:
			continue
		case err != nil:
			return nil, nil, err
		case v.Problem() != nil:
			return nil, nil, v.Problem()
		}
		if list, trouble = v.Verify(), v.Trouble(); len(list) > 0 || trouble != nil {
			break
		}
	}
	return list, trouble, nil
}
