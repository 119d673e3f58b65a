package setting

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

// View is a journal as it was read: what is changed and not put back, and what is wrong with it. It needs no
// lock and no rights but to read; what another hostlab is just doing may be half there.
type View struct {
	sys     *System
	dir     string
	boot    string // when it was read
	st      *state
	problem *Problem
	unended bool // the last set had no end when the file was read
	names   []string
	// broken says that the next line goes into a new file: an Append failed and may have left
	// a piece of a line, or the file has what is no longer so.
	broken bool
	exists bool
	size   int // bytes of the file
}

// Look reads the journal of a directory. Where there is none, everything is put back.
func Look(sys *System, dir string) (*View, error) {
	v := &View{sys: sys, dir: filepath.Clean(dir), st: newState()}
	err := v.load()
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w; run as the user who has set it", err)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// load reads the journal's file.
func (v *View) load() error {
	v.boot = v.sys.Boot()
	b, err := v.sys.Disk.ReadFile(v.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the journal %s: %w. Move it away to go on", v.path(), pathless{err})
	}
	v.exists, v.size = true, len(b)
	v.st, v.broken, v.problem = replay(b)
	v.names, v.unended = v.st.names(), v.st.unended(v.boot)
	if v.st.undecided(v.sys, v.boot) {
		v.broken = true // the next line goes into a file that says so
	}
	if host := v.sys.Host(); v.problem == nil && v.st.host != "" && host != "" && v.st.host != host {
		v.problem = &Problem{Kind: OtherHost, What: fmt.Sprintf("its machine ID %.8s... is not %.8s..., this one's",
			v.st.host,
			host)}
	}
	if v.problem != nil {
		v.problem.Path, v.problem.Names = v.path(), v.names
	}
	return nil
}

func (v *View) path() string { return filepath.Join(v.dir, journalFile) }

// Problem is why the journal may not be used; nil: it may. With one, Apply and Revert
// do nothing but return it.
func (v *View) Problem() *Problem { return v.problem }

// Trouble is what is known to be wrong with the journal, where it may be used as well; nil: nothing.
func (v *View) Trouble() *Problem {
	switch {
	case v.problem != nil:
		return v.problem
	case v.unended:
		return &Problem{Kind: Unended, Path: v.path(), Names: v.names}
	}
	return nil
}

// Entry is one object that was changed, and is not put back.
type Entry struct {
	Set      int    // number of the set of changes that it belongs to
	Owner    string // who made it: OwnerSet, or the directory of an experiment
	At       time.Time
	Boot     string
	Setting  string
	Object   Object
	Original string // before the first change
	Wrote    string // what was last written
	Read     string // what it read afterwards; "" if the process ended before it could
	Side     string // not set itself: this setting changes it too; "" otherwise
	// Forgotten: the machine has rebooted since, which has put it back.
	Forgotten bool
}

// Entries are the open ones: changed and not put back, oldest first. With a problem they are what could be read.
func (v *View) Entries() []Entry {
	list := []Entry{}
	for _, o := range slices.Backward(v.st.open()) {
		e := Entry{Set: o.Set, Owner: o.Owner, At: o.At, Boot: o.Boot, Setting: o.Setting, Object: o.object(),
			Original: o.Original, Wrote: o.Wrote, Side: o.Side, Forgotten: o.rebooted(v.boot)}
		if o.Done {
			e.Read = o.Ours
		}
		list = append(list, e)
	}
	return list
}

// judge looks at an object of the journal and says whose value it reads: Unchanged and Rounded ones are as they were
// left; Foreign ones were changed since, Forgotten ones by a reboot; Gone and Failed ones have no value,
// or one that a kill has left. From is the first original, To what was written; read: it could be read.
func (v *View) judge(o *object) (out Outcome, read bool) {
	out.Step = Step{Setting: o.Setting, Object: o.object(), From: o.Original, To: o.Wrote}
	value, err := v.sys.setting(o.Setting).read(v.sys, o.object())
	out.Read = value
	switch {
	case o.rebooted(v.boot):
		out.Result, out.Reason = Forgotten, "the machine has rebooted since"
		if err == nil && o.Wrote != "" && value == o.Wrote {
			out.Reason += "; it reads the same because the kernel, the firmware or a program at boot (tuned, sysctl.d, " +
				"udev) set it again"
		}
	case err != nil:
		out.Result, out.Reason = Failed, unreadable(o.object(), err).Error()
		if gone(err) {
			out.Result = Gone
		}
	case value == o.Wrote:
		out.Result = Unchanged
	case o.Done && value == o.Ours:
		out.Result, out.Reason = Rounded, fmt.Sprintf("%s, or what was set after it, made %s of it",
			v.sys.setting(o.Setting).Keeper(), value)
	case !o.Done && o.mine(value):
		out.Result, out.Reason = Failed, "hostlab was killed while it set it"
	case value == o.Original:
		out.Result, out.Reason = Foreign, "as before it was set"
	default:
		out.Result, out.Reason = Foreign, v.foreign()
	}
	return out, err == nil
}

// Verify compares what was set with what is there now, oldest first. What was Forgotten and reads as it was set is
// Unchanged: a profile that keeps settings over a reboot has done its work. Behind that come the objects that nobody
// has set and that the kernel has changed with one that was, as they read still: each Moved, from what it was, with the
// reason "with" and the setting. Revert puts them back.
func (v *View) Verify() (list []Outcome) {
	var moved []Outcome
	for _, o := range slices.Backward(v.st.open()) {
		out, read := v.judge(o)
		switch set := o.Side == ""; {
		case set && out.Result == Forgotten && read && o.Wrote != "" && out.Read == o.Wrote:
			out.Result = Unchanged
			list = append(list, out)
		case set && (o.Wrote != "" || out.Result == Forgotten):
			list = append(list, out)
		case !set && read && out.Result != Forgotten && out.Read != out.From && o.mine(out.Read):
			out.To, out.With = out.Read, o.Side
			out.Result, out.Reason = Moved, "with "+out.With
			moved = append(moved, out)
		}
	}
	return append(list, moved...)
}

// Preview says what Revert would do, and writes nothing. What would be written is Planned, what has
// its old value already Unchanged; all else is as Revert would say.
func (v *View) Preview(owner string, reach Reach) []Outcome {
	w := (&Journal{View: *v}).writer(v.sys, owner)
	var out []Outcome
	for _, u := range w.undos(owner) {
		w.look(u, reach)
		switch {
		case u.out.Result != "" || !u.ours:
		case u.out.From == u.to:
			u.out.Result = Unchanged
		default:
			u.out.Result = Planned
		}
		out = append(out, u.out)
	}
	return out
}
