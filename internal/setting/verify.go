package setting

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// Pending are the open entries of a directory's journal, oldest first, read without its
// lock: what another hostlab is just doing may be half there. None: everything is put
// back. The error is a *Problem where the journal is damaged or another machine's;
// the entries are then what could be read of it.
func Pending(sys *System, dir string) ([]Entry, error) {
	j, err := peek(sys, dir)
	if err != nil {
		return nil, err
	}
	return j.st.entries(sys.Boot()), j.trouble()
}

// Damage says what is known to be missing from a directory's journal, until Forget; "": nothing. A journal
// that may not be used has a Problem besides.
func Damage(sys *System, dir string) (string, error) {
	j, err := peek(sys, dir)
	if err != nil {
		return "", err
	}
	return j.st.damage, nil
}

// Unended says that the last set of a directory's journal has no end, and names what may still be changed;
// "": it has one.
func Unended(sys *System, dir string) (string, error) {
	j, err := peek(sys, dir)
	if err != nil {
		return "", err
	}
	return j.unended, nil
}

// Tidy removes a journal in which nothing is open, as a kill leaves one between the first line and
// the first write, or between the last line and its removal. One that is in use is left.
func Tidy(sys *System, dir string) error {
	if _, err := sys.Disk.ReadFile(filepath.Join(dir, journalFile)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	j, err := OpenJournal(sys, dir)
	if err != nil {
		return err
	}
	if j.problem == nil {
		err = j.drop(nil, false)
	}
	return errors.Join(err, j.Close())
}

// peek reads a journal without its lock.
func peek(sys *System, dir string) (*Journal, error) {
	j := &Journal{sys: sys, dir: filepath.Clean(dir)}
	if err := j.load(); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("%w; run as the user who has set it", err)
		}
		return nil, err
	}
	return j, nil
}

// trouble is the journal's problem as an error.
func (j *Journal) trouble() error {
	if j.problem != nil {
		return j.problem
	}
	return nil
}

// Verify compares what was set with what is there now; it needs no lock and no rights.
// Unchanged and Rounded objects are as they were left; Foreign ones were changed since,
// Forgotten ones by a reboot; Gone and Failed ones cannot be read. The error is as
// that of Pending.
func Verify(sys *System, dir string) ([]Outcome, error) {
	j, err := peek(sys, dir)
	if err != nil {
		return nil, err
	}
	boot := sys.Boot()
	var out []Outcome
	open := j.st.open()
	slices.Reverse(open)
	for _, o := range open {
		if o.Wrote == "" && !rebooted(o, boot) || !slices.ContainsFunc(o.Layers, func(l layer) bool { return l.Side == "" }) {
			continue // it was not set, only disturbed
		}
		out = append(out, j.st.verify(o, sys, boot))
	}
	return out, j.trouble()
}

// Beside are the objects that nobody has set, and that the kernel has changed with one that was, as the
// journal knows it and as they read still: each Moved, from what it was, with the reason "with" and the setting.
// Revert puts them back. It needs no lock and no rights; the error is as that of Pending.
func Beside(sys *System, dir string) (out []Outcome, _ error) {
	j, err := peek(sys, dir)
	if err != nil {
		return nil, err
	}
	boot := sys.Boot()
	open := j.st.open()
	slices.Reverse(open)
	for _, o := range open {
		if rebooted(o, boot) || slices.ContainsFunc(o.Layers, func(l layer) bool { return l.Side == "" }) {
			continue
		}
		first := o.Layers[0]
		v, err := sys.setting(o.Setting).read(sys, o.object())
		if err != nil || v == first.Original || !o.mine(v) {
			continue
		}
		out = append(out, Outcome{Step: Step{Setting: o.Setting, Object: o.object(), From: first.Original, To: v}, Read: v,
			Result: Moved, Reason: "with " + first.Side})
	}
	return out, j.trouble()
}

func (st *state) verify(o *object, sys *System, boot string) Outcome {
	out := Outcome{Step: Step{Setting: o.Setting, Object: o.object(), From: o.Layers[0].Original, To: o.Wrote}}
	v, err := sys.setting(o.Setting).read(sys, o.object())
	if rebooted(o, boot) {
		out.Read, out.Result, out.Reason = v, Forgotten, o.restarted(v)
		return out
	}
	if err != nil {
		out.Result, out.Reason = Failed, unreadable(o.object(), err).Error()
		if gone(err) {
			out.Result = Gone
		}
		return out
	}
	out.Read = v
	switch {
	case v == o.Wrote:
		out.Result = Unchanged
	case o.Done && v == o.Ours:
		out.Result, out.Reason = Rounded, fmt.Sprintf("the kernel, or what was set after it, made %s of it", v)
	case !o.Done && o.mine(v):
		out.Result, out.Reason = Failed, "hostlab was killed while it set it"
	case v == o.Layers[0].Original && !o.Doubt:
		out.Result, out.Reason = Foreign, "as before it was set"
	default:
		out.Result, out.Reason = Foreign, st.foreign(o)
	}
	return out
}
