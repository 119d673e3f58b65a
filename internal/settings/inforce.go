package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

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
