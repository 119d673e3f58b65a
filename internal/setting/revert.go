package setting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Reach is which values Revert writes over.
type Reach int

const (
	// ReachOurs are values that hostlab has set since the machine has started.
	ReachOurs Reach = iota
	// ReachPersisted are also those that a profile has set again as they were, at a start since.
	ReachPersisted
	// ReachAll are also those of other programs.
	ReachAll
)

// Revert puts back open entries of an owner ("" all), the last first, each only where the
// value is still ours, or one that reach takes too. What cannot be put back now, because it is
// Foreign, Gone or Failed, stays in the journal. Outcomes are in the order of undoing. The error
// is about the journal or the context; failures of objects are outcomes. What was set before the
// machine has started again is Forgotten: it is struck off the journal and not written, unless reach
// is beyond ReachOurs and it still reads what was set.
//
// A foreign change is not seen where it falls between the last look at a value, the write and the look after it, which
// are three system calls in a row: files of the kernel offer no compare-and-swap.
func Revert(ctx context.Context, sys *System, j *Journal, owner string, reach Reach) ([]Outcome, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.problem != nil {
		return nil, j.problem
	}
	released := j.release(owner)
	_ = j.shrink() // a full disk is no reason to put nothing back
	w := j.writer(sys, owner)
	list := w.undos(owner)
	err := errors.Join(released, w.restore(ctx, list, reach))
	var out []Outcome
	for _, u := range list {
		out = append(out, u.out)
	}
	return out, err
}

// undo is one object that is put back.
type undo struct {
	o    *object
	s    Setting
	to   string
	drop bool // from the journal, when it is back
	// original is to of an object that another program has changed.
	original *string
	// ours: it may be written, or it has the value already.
	ours bool
	// hold: to is another program's value, which our writes to other objects must not change.
	hold bool
	// forced: it is written whatever it reads.
	forced  bool
	settled bool
	out     Outcome
}

// undos are the objects that an owner ("" all) may put back, the last changed first.
func (w *writer) undos(owner string) (list []*undo) {
	for _, o := range w.j.st.open() {
		if owner == "" || o.Owner == owner {
			list = append(list, &undo{o: o, s: w.sys.setting(o.Setting), to: o.Original, drop: true})
		}
	}
	return list
}

// passes bounds how often objects are gone through. Two are needed where one's limit
// keeps another from its value; the last one only looks.
const passes = 4

// restore puts objects back and drops them from the journal. It first looks at all of them,
// since each write may change others: from then on it knows what is whose.
func (w *writer) restore(ctx context.Context, list []*undo, reach Reach) error {
	for _, u := range list {
		w.look(u, reach)
	}
	list = w.bystanders(list)
	w.careless, w.lost = true, nil
	var stopped error
	disturbing := false
	for pass := range passes {
		wrote := false
		if disturbing {
			w.sys.wait()
		}
		for _, u := range list {
			if !u.ours {
				continue
			}
			if stopped = ctx.Err(); stopped != nil {
				break
			}
			did := w.undo(u, pass)
			wrote = wrote || did
			disturbing = disturbing || did && u.s.disturbs()
		}
		if !wrote || stopped != nil {
			break
		}
	}
	var dropped []string
	for _, u := range list {
		w.judge(u, stopped)
		back := u.out.Result == Restored || u.out.Result == Forgotten
		switch o := w.j.st.objects[u.o.Path]; {
		case back && u.drop, u.hold && o != nil && o.Set == w.set &&
			o.Original == u.out.Read: // it was to keep its value, and has
			dropped = append(dropped, u.o.Path)
		case back && !u.o.mine(u.out.Read): // another program restored what an earlier set of ours had set
			_ = w.note(false, &begin{Set: w.set, Path: u.o.Path, To: u.out.Read})
			_ = w.note(false, &done{Path: u.o.Path, Read: &u.out.Read})
		}
	}
	err := w.j.drop(dropped)
	if err == nil {
		err = w.end()
	}
	if err == nil && len(w.j.st.objects) == 0 {
		w.lost = nil // all is back, and the journal says so
	}
	return errors.Join(w.lost, err, stopped)
}

// look judges an object and decides whether it may be written.
func (w *writer) look(u *undo, reach Reach) {
	out, read := w.j.judge(u.o)
	v := out.Read
	out.From, out.To = v, u.to
	u.out = out
	switch again := out.Result == Forgotten; {
	case again && (!read || reach == ReachOurs || v != u.o.Wrote || v == u.to): // what it reads now is none of ours
	case out.Result == Gone:
		u.ours = true // it may come back with another object, such as a CPU with SMT
		u.out.Reason += stays
	case !read:
	case reach == ReachAll, v == u.to, u.o.restorable(v):
		u.ours, u.forced = true, reach == ReachAll && v != u.to
		u.out.Result, u.out.Reason = "", ""
	default:
		u.out.Result, u.out.Reason = Foreign, w.j.foreign()
		original := u.to
		u.original, u.ours, u.hold, u.to, u.drop = &original, true, true, v, false
	}
}

const stays = "; it stays in the journal"

// another and incomplete are why an object reads none of our values.
const (
	another    = "another program has changed it"
	incomplete = "another program has changed it, or the 'hostlab set' whose end the journal lacks"
)

// foreign says of an object that reads none of our values how that may be.
func (v *View) foreign() string {
	if v.unended {
		return incomplete
	}
	return another
}

// bystanders adds objects that the writes to come would disturb and that are not
// put back themselves; they keep the value that they have.
func (w *writer) bystanders(list []*undo) []*undo {
	have := map[string]*undo{}
	for _, u := range list {
		have[u.o.Path] = u
	}
	for _, u := range list[:len(list):len(list)] {
		if !u.ours || u.hold || u.out.From == u.to {
			continue
		}
		for _, side := range w.disturbed(u.s, u.o.object()) {
			if b := have[side.Object.Path]; b != nil {
				if !b.ours && b.out.Read != "" {
					b.ours, b.hold, b.to = true, true, b.out.Read
				}
				continue
			}
			s := w.sys.setting(side.Setting)
			v, err := s.read(w.sys, side.Object)
			if err != nil {
				continue
			}
			o := w.j.st.objects[side.Object.Path]
			if o == nil { // put journals it before the write
				o = &object{Setting: s.Name, Name: side.Object.Name, Path: side.Object.Path, Ours: v}
			}
			b := &undo{o: o, s: s, to: v, ours: true, hold: true}
			b.out = Outcome{Step: Step{Setting: s.Name, Object: side.Object, From: v, To: v}, Read: v, Result: Unchanged}
			have[side.Object.Path] = b
			list = append(list, b)
		}
	}
	return list
}

// undo looks at one object and writes it if it is not back.
func (w *writer) undo(u *undo, pass int) (wrote bool) {
	if o := w.j.st.objects[u.o.Path]; o != nil {
		u.o = o // a bystander that is in the journal by now
	}
	object := u.o.object()
	v, err := u.s.read(w.sys, object)
	if err != nil {
		u.settled = false
		u.out.Result, u.out.Reason = Failed, unreadable(object, err).Error()
		if gone(err) {
			u.out.Result, u.out.Reason = Gone, u.out.Reason+stays
		}
		return false
	}
	u.out.Read = v
	u.out.From = cmp.Or(u.out.From, v)
	if v == u.to && !u.stale() {
		u.settled = true
		return false
	}
	if !u.forced && !u.o.restorable(v) {
		u.ours, u.settled = false, false
		u.out.Result, u.out.Reason = Foreign, w.j.foreign()
		return false
	}
	u.settled = false
	if u.s.Rival != "" && u.to == "0" && pass < passes-2 {
		return true // comes back with another object, or is tried by itself in the end
	}
	if pass == passes-1 {
		return false
	}
	read, err := w.put(u.s, object, v, u.to)
	u.out.Result, u.out.Reason = "", ""
	if err != nil && !errors.Is(err, errMeanwhile) { // of which the next pass looks whose it is
		u.out.Result, u.out.Reason = Failed, reason(err)
	}
	if read != "" {
		u.out.Read, u.settled = read, read == u.to
	}
	return true
}

// stale reports that the kernel keeps a request of ours behind a value that is the old one: a
// minimum above the maximum reads as the maximum, and returns when that is raised.
func (u *undo) stale() bool {
	return u.s.request && !u.hold && u.o.Wrote != "" && u.o.Wrote != u.to
}

// judge says what became of an object.
func (w *writer) judge(u *undo, stopped error) {
	switch {
	case u.original != nil && u.out.Read == *u.original:
		// Another object's way back has brought this one back, as the governor performance does
		// with an EPP that a CPU has got anew.
		u.to, u.drop = u.out.Read, true
		u.out.To, u.out.Result, u.out.Reason = u.to, Restored, ""
	case u.hold, !u.ours:
	case u.settled:
		u.out.Result, u.out.Reason = Restored, ""
	case u.out.Result != "":
	case stopped != nil:
		u.out.Result, u.out.Reason = Failed, "interrupted before it was put back"+stays
	default:
		u.out.Result = Failed
		u.out.Reason = fmt.Sprintf("%s: it was written, and reads %s in place of %s", u.o.Path, u.out.Read, u.to) + stays
	}
}
