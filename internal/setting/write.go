package setting

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// writer makes one set of changes.
type writer struct {
	j     *Journal
	sys   *System
	set   int
	owner string
	at    time.Time
	boot  string
	lasts bool              // of what was written something outlives the kernel
	sides map[string][]Side // by path, what writes to it disturb
	// careless goes on without a journal that cannot be written; lost is the first error of it.
	careless bool
	lost     error
}

func (j *Journal) writer(sys *System, owner string) *writer {
	set := j.st.nextSet
	j.st.nextSet++
	return &writer{j: j, sys: sys, set: set, owner: owner, at: sys.Now().UTC(), boot: sys.Boot(),
		sides: map[string][]Side{}}
}

// setting returns an object's setting; one that this hostlab does not know is read
// and written plainly.
func (sys *System) setting(name string) Setting {
	s, ok := sys.find(name)
	if !ok {
		s.Name = name
	}
	return s
}

// disturbed are the sides of a write, and all that were listed before: a directory that
// fails to be read once must not make us forget what was there.
func (w *writer) disturbed(s Setting, o Object) []Side {
	list := s.sides(w.sys, o)
	for _, old := range w.sides[o.Path] {
		if !slices.ContainsFunc(list, func(side Side) bool { return side.Object.Path == old.Object.Path }) {
			list = append(list, old)
		}
	}
	w.sides[o.Path] = list
	return list
}

// intends collects what a set is about to change.
type intends struct {
	w    *writer
	list []planned
	at   map[string]int
}

// add plans one object that reads from and is to read to; side is the setting that disturbs it, or "".
func (in *intends) add(s Setting, o Object, from, to, side string) {
	if i, ok := in.at[o.Path]; ok {
		if side == "" {
			in.list[i].Side, in.list[i].To = "", to
		}
		return
	}
	st := in.w.j.st
	p := planned{ID: st.nextID, Setting: s.Name, Name: o.Name, Path: o.Path, Lasting: s.Lasting, From: from, To: to,
		Side: side}
	st.nextID++
	if known := st.objects[o.Path]; known != nil {
		p.Fresh = known.rebooted(in.w.boot) || !known.mine(from)
	}
	in.at[o.Path] = len(in.list)
	in.list = append(in.list, p)
}

// addSides plans what a write would disturb, except what is in the journal already.
func (in *intends) addSides(s Setting, sides []Side) {
	for _, side := range sides {
		o := in.w.j.st.objects[side.Object.Path]
		if _, known := in.w.pending(side.Object.Path); known || o != nil && !o.rebooted(in.w.boot) {
			continue
		}
		of := in.w.sys.setting(side.Setting)
		v, err := of.read(in.w.sys, side.Object)
		if err != nil {
			continue // what is not there has no value to keep
		}
		in.add(of, side.Object, v, "", s.Name)
	}
}

// pending returns what this set has intended for an object, and not begun.
func (w *writer) pending(path string) (p planned, ok bool) {
	p, ok = w.j.st.planned[path]
	return p, ok && w.j.st.intent.Set == w.set
}

func (w *writer) intends() *intends { return &intends{w: w, at: map[string]int{}} }

// commit makes an intent durable.
func (in *intends) commit() error {
	if len(in.list) == 0 {
		return nil
	}
	return in.w.note(true, &intend{Set: in.w.set, Owner: in.w.owner, At: in.w.at, Boot: in.w.boot, Objects: in.list})
}

// end says that the set has ended: what it has intended and not begun is as it was. One that
// intended nothing has no lines, and one that put back all has no journal any more.
func (w *writer) end() error {
	if w.j.st.atWork != w.set {
		return nil
	}
	return w.j.append(w.lasts, &end{w.set})
}

// errMeanwhile says that an object changed between the look at it and its write.
var errMeanwhile = errors.New("it changed just before it was written")

// note adds a line. A careless set, which puts back, goes on without a journal that cannot be written: to leave a
// value changed would be worse. That holds for the end of a write as well. What could not be written is in the state,
// and the next line that can be writes the whole state first.
func (w *writer) note(durable bool, e event) error {
	err := w.j.append(durable, e)
	if _, ended := e.(*done); err == nil || !w.careless && !ended {
		return err
	}
	if w.lost == nil {
		w.lost = err
	}
	_ = e.apply(w.j.st)
	return nil
}

// put writes one object that is in the journal and reads seen, and reads it back; "": it could not be read. The error
// is *Refused, errMeanwhile, or that of the journal or of reading.
func (w *writer) put(s Setting, o Object, seen, to string) (read string, _ error) {
	sides := w.disturbed(s, o)
	in := w.intends()
	in.addSides(s, sides)
	if err := in.commit(); err != nil {
		return "", err
	}
	began := &begin{Set: w.set, Path: o.Path, To: to, Any: s.Rounds}
	for _, side := range sides {
		began.Sides = append(began.Sides, sideways{Path: side.Object.Path, Becomes: side.Becomes, Any: side.Becomes == nil})
	}
	w.lasts = w.lasts || s.Lasting
	// Only what outlives the kernel must be known after a power cut.
	if err := w.note(s.Lasting, began); err != nil {
		return "", err
	}
	// Files of the kernel have no compare-and-swap: one system call lies between.
	if v, err := s.read(w.sys, o); err == nil && v != seen {
		return v, errors.Join(w.note(s.Lasting, &done{Path: o.Path, Read: &seen}), errMeanwhile)
	}
	writeErr := s.write(w.sys, o, to)
	read, readErr := s.read(w.sys, o)
	if w.sys.pause != nil && writeErr == nil && readErr == nil && read != to && s.Rounds {
		w.sys.wait()
		read, readErr = s.read(w.sys, o)
	}
	ended := &done{Path: o.Path, Saw: map[string]string{}}
	if readErr == nil {
		ended.Read = &read
	}
	for _, side := range sides {
		if v, err := w.sys.setting(side.Setting).read(w.sys, side.Object); err == nil {
			ended.Saw[side.Object.Path] = v
		}
	}
	err := w.note(s.Lasting, ended)
	switch {
	case !w.careless && w.lost != nil:
		err = w.lost
	case writeErr != nil:
		err = s.refuse(o, to, writeErr)
	case readErr != nil:
		err = unreadable(o, readErr)
	}
	return read, err
}

// here returns the objects of a setting. The error says why there are none.
func (s Setting) here(sys *System) ([]Object, error) {
	if sys.Missing != nil {
		return nil, sys.Missing
	}
	return s.objects(sys)
}

// Read returns the state of each object. No objects: the host has no such knob, and
// the error says why.
func (s Setting) Read(sys *System) ([]State, error) {
	objects, err := s.here(sys)
	if err != nil {
		return nil, err
	}
	states := make([]State, len(objects))
	for i, o := range objects {
		states[i] = State{Name: o.Name, Path: o.Path, Note: s.Note(sys, o)}
		v, err := s.read(sys, o)
		if err != nil {
			states[i].Problem = unreadable(o, err).Error()
			continue
		}
		states[i].Value, states[i].Shown = v, s.Show(o, v)
		// Levels that cannot be listed do not keep the value from being shown.
		var why error
		states[i].Levels, why = s.Takes.levels(sys, o)
		states[i].Fixed = s.fixed(sys, o, v, states[i].Levels, why)
	}
	return states, nil
}

// fixed says why nobody can set an object; "" where nothing says so before set tries.
func (s Setting) fixed(sys *System, o Object, now string, levels []string, why error) string {
	others := slices.ContainsFunc(levels, func(l string) bool { return l != now })
	switch {
	case s.Windows():
		if errors.Is(sys.FS.Writable(o.Path), codePolicy) {
			return fixedByPolicy
		}
	case levels != nil && len(levels) == 0 && why != nil:
		return why.Error()
	case levels != nil && !others:
		return "the kernel offers nothing else here"
	case errors.Is(sys.FS.Writable(o.Path), syscall.EROFS):
		return "it is on a file system that is mounted read-only here"
	}
	return ""
}

// Settable reports that one of a setting's objects may be set, as far as is known before set tries.
func Settable(states []State) bool {
	return slices.ContainsFunc(states, func(st State) bool { return st.Fixed == "" && st.Problem == "" })
}

// text reads a file of the machine, without white space around it.
func (sys *System) text(path string) (string, error) {
	b, err := sys.FS.ReadFile(path)
	return strings.TrimSpace(string(b)), err
}

// number reads a whole number; ok is false where there is none.
func (sys *System) number(path string) (n int64, ok bool) {
	t, err := sys.text(path)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(t, 10, 64)
	return n, err == nil
}

// exists reports whether a file is there, also one that may not be read or that fails.
func (sys *System) exists(path string) bool {
	_, err := sys.FS.ReadFile(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

// numbered lists the names in a directory that are a prefix and a number.
func (sys *System) numbered(dir, prefix string) []string {
	all, err := sys.FS.ReadDir(dir)
	if err != nil {
		return nil
	}
	return withNumber(all, prefix)
}

func withNumber(names []string, prefix string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		digits, ok := strings.CutPrefix(name, prefix)
		_, err := strconv.ParseUint(digits, 10, 32)
		return !ok || err != nil
	})
}
