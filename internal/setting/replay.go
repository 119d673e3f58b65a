package setting

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// format is the version of the journal's lines. A newer one is left alone. In the first,
// an intent did not say what it would write. Since the third, every set has an end.
const format = 3

// state is what the lines of a journal add up to.
type state struct {
	host    string
	id      string // of the file; "" in those without marks
	format  int
	lines   int    // good ones
	least   int    // lines that there were from the first
	began   bool   // a line names what was changed
	damage  string // what is known to be missing, until Forget; "": nothing
	nextID  int    // of objects and layers
	nextSet int
	atWork  int                // the last set, until it has ended; 0: it has
	marked  bool               // the file of marks was synced
	objects map[string]*object // by path
	planned map[string]intent  // by path: intended, and not begun
	paths   map[int]string     // of all objects that had an ID
}

// intent is a planned object and the set of changes that it belongs to.
type intent struct {
	planned
	set   int
	owner string
	at    time.Time
	boot  string
}

func (p intent) rebooted(boot string) bool { return forgotten(p.Lasting, p.boot, boot) }

func newState() *state {
	return &state{nextID: 1, nextSet: 1, objects: map[string]*object{}, planned: map[string]intent{}, paths: map[int]string{}}
}

// replay adds up a journal's lines. torn says that the last one was cut, as a power
// cut or a kill leaves it, and that it was left out. The problem has no path yet; the
// state is what the lines that could be read say.
func replay(b []byte) (st *state, torn bool, problem *Problem) {
	st = newState()
	// A value in braces takes two bytes here and hundreds in memory; what hostlab writes has
	// fifty and more for each.
	const least, few = 24, 100
	if n := bytes.Count(b, []byte("{")); n > len(b)/least+few {
		return st, false, &Problem{Kind: Lost, Line: 1, What: fmt.Sprintf("it has %d values in %d bytes, which hostlab "+
			"does not write", n, len(b))}
	}
	rest := b
	for n := 1; len(rest) > 0; n++ {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		rest = after
		if !whole {
			torn = true
			break
		}
		r, err := decodeRecord(line)
		if err == nil {
			err = st.apply(r)
			if problem == nil && r.N != st.lines+1 {
				err = fmt.Errorf("it says that it is line %d: lines before it are missing, or were added", r.N)
			}
		}
		st.lines++
		if err == nil {
			continue
		}
		if problem == nil {
			// Of the last line not all sectors may have reached the disk. One whose checksum fits
			// was written so, and is damage.
			if _, cut := intact(line); cut != nil && len(rest) == 0 {
				torn = true
				st.lines--
				break
			}
			problem = &Problem{Line: n, What: err.Error()}
		}
		if r != nil && r.Kind == "head" {
			break
		}
	}
	// hostlab leaves no journal without a change: the file is renamed into its place once its
	// first change is in it and on the disk.
	if problem == nil && !st.began {
		problem = &Problem{Kind: Lost, Line: 1, What: "it names no change"}
		switch {
		case len(b) == 0:
			problem.What = "it is empty"
		case len(bytes.Trim(b, "\x00")) == 0:
			problem.What = "it holds zero bytes alone"
		}
	}
	return st, torn, problem
}

// apply takes one line into the state. It checks what a line says, since root will
// write to the paths that are in it.
func (st *state) apply(r *record) error {
	switch r.Kind {
	case "head":
		st.host, st.format, st.id, st.atWork, st.least = r.Host, r.Format, r.Journal, r.Set, r.Lines
		if r.Format > format {
			return fmt.Errorf("a newer hostlab wrote it (format %d; this one knows %d)", r.Format, format)
		}
	case "intend":
		st.began = true
		for _, p := range r.Objects {
			if !settable(p.Path) {
				return fmt.Errorf("%q is no path of a setting", p.Path)
			}
			if o := st.objects[p.Path]; o != nil && o.ID != p.ID {
				return fmt.Errorf("object %d is %q already", o.ID, p.Path)
			}
		}
		st.atWork, st.nextSet = r.Set, max(st.nextSet, r.Set+1)
		for _, p := range r.Objects {
			st.planned[p.Path] = intent{p, r.Set, r.Owner, r.At, r.Boot}
			st.paths[p.ID] = p.Path
			st.nextID = max(st.nextID, p.ID+1, p.Layer+1)
		}
	case "go":
		return st.begin(r)
	case "done":
		return st.done(r)
	case "is":
		o := st.objects[st.paths[r.ID]]
		if o == nil || r.Read == nil {
			return fmt.Errorf("object %d is not open", r.ID)
		}
		o.settle(*r.Read)
		o.Wrote = *r.Read
	case "end":
		maps.DeleteFunc(st.planned, func(_ string, p intent) bool { return p.set == r.Set })
		if st.atWork == r.Set {
			st.atWork = 0
		}
	case "drop":
		dropped := map[int]bool{}
		for _, id := range r.Layers {
			dropped[id] = true
		}
		for path, p := range st.planned {
			if p.Layer > 0 && dropped[p.Layer] {
				delete(st.planned, path)
			}
		}
		for path, o := range st.objects {
			o.drop(dropped, r.Pass)
			if len(o.Layers) == 0 {
				delete(st.objects, path)
			}
		}
	case "damage":
		st.began, st.damage = true, r.What
	case "object":
		o := r.Object
		if o == nil || !settable(o.Path) || len(o.Layers) == 0 {
			return fmt.Errorf("it is no object")
		}
		st.began = true
		st.objects[o.Path], st.paths[o.ID] = o, o.Path
		st.nextID = max(st.nextID, o.ID+1)
		for _, l := range o.Layers {
			st.nextID, st.nextSet = max(st.nextID, l.ID+1), max(st.nextSet, l.Set+1)
		}
	default:
		return fmt.Errorf("%q is no kind of line", r.Kind)
	}
	return nil
}

// begin makes an intended object, and those that it disturbs, ours: from now on
// they may have been written.
func (st *state) begin(r *record) error {
	st.atWork, st.marked = r.Set, st.marked || r.Marked
	path := st.paths[r.ID]
	o := st.take(path, r.Set)
	if o == nil {
		return fmt.Errorf("object %d was not intended", r.ID)
	}
	o.Wrote, o.Done = r.To, false
	o.Maybe = append(o.Maybe, r.To)
	o.Any = o.Any || r.Any
	for _, s := range r.Sides {
		if side := st.take(s.Path, r.Set); side != nil {
			side.disturbed(s)
		}
	}
	return nil
}

// take opens an object that its set has intended, and returns it; nil: there is no
// such. What an earlier set has intended and not begun, since it was killed, is nothing.
func (st *state) take(path string, set int) *object {
	o := st.objects[path]
	p, ok := st.planned[path]
	if !ok || p.set != set {
		return o
	}
	delete(st.planned, path)
	if o == nil || p.Fresh {
		o = &object{ID: p.ID, Path: p.Path, Ours: p.From}
		st.objects[path] = o
	}
	o.Setting, o.Name, o.Lasting, o.Boot = p.Setting, p.Name, p.Lasting, p.boot
	if l := o.layer(p.owner); p.Layer > 0 && l == nil {
		o.Layers = append(o.Layers, layer{ID: p.Layer, Set: p.set, Owner: p.owner, At: p.at, Original: p.From, Side: p.Side})
	} else if l != nil && p.Side == "" {
		l.Side = ""
	}
	return o
}

// afterReboot opens what an earlier boot has intended and is not known to have begun: the lines that
// would say so are not synced, and a power cut may have taken them. The kernel has forgotten it, and
// that is what a command must say. Of what lasts, the beginning is synced as well.
func (st *state) afterReboot(boot string) {
	for _, path := range slices.Sorted(maps.Keys(st.planned)) {
		if p := st.planned[path]; p.Layer > 0 && p.rebooted(boot) {
			st.take(path, p.set)
		}
	}
}

// doubt opens what a set without an end has intended, not begun as far as the lines say,
// and that does not read as before: lines are lost, or another program has changed it. A kill
// alone loses none that matters, since each is written before what it announces. What
// reads as intended is ours; cut says that there is such. In the first format no set had
// an end, so that only a journal in which nothing has begun can be doubted.
func (st *state) doubt(sys *System, boot string) (cut bool) {
	if st.format < 2 && len(st.objects) > 0 {
		return false
	}
	for _, path := range slices.Sorted(maps.Keys(st.planned)) {
		p, known := st.planned[path], st.objects[path]
		if p.rebooted(boot) {
			continue // the kernel has forgotten it
		}
		v, err := sys.setting(p.Setting).read(sys, Object{Name: p.Name, Path: p.Path})
		done := p.To != "" && v == p.To
		if err != nil || v == p.From || known == nil && p.Layer == 0 || known != nil && !done {
			continue
		}
		o := st.take(path, p.set)
		o.Doubt, o.Wrote, o.Done = true, p.To, false
		cut = cut || done
	}
	return cut
}

// unended reports that the last set has not ended, and that the kernel has not forgotten it
// since. Before the third format no set said so.
func (st *state) unended(boot string) bool {
	if st.atWork == 0 || st.format < 3 {
		return false
	}
	for _, o := range st.objects {
		if !o.rebooted(boot) {
			return true
		}
	}
	for _, p := range st.planned {
		if !p.rebooted(boot) {
			return true
		}
	}
	return false
}

// names lists what may have been changed, as far as the lines say.
func (st *state) names() (out []string) {
	for path, o := range st.objects {
		out = append(out, Label(o.Setting, o.Name)+" ("+path+")")
	}
	for path, p := range st.planned {
		if st.objects[path] == nil {
			out = append(out, Label(p.Setting, p.Name)+" ("+path+")")
		}
	}
	slices.Sort(out)
	return out
}

// done takes what the write of an object was found to have done.
func (st *state) done(r *record) error {
	o := st.objects[st.paths[r.ID]]
	if o == nil {
		return fmt.Errorf("the write of object %d ended, which had not begun", r.ID)
	}
	if r.Read != nil {
		o.settle(*r.Read)
	}
	for path, v := range r.Saw {
		// What is none of the values that our write could give is another program's.
		if side := st.objects[path]; side != nil && side.mine(v) {
			done := side.Done
			side.settle(v)
			side.Done = done
		}
	}
	return nil
}

// none reports that nothing is open, and nothing is known to be missing: that needs no file.
func (st *state) none() bool { return len(st.objects) == 0 && st.damage == "" }

// open lists the objects, the last intended first: the order of undoing.
func (st *state) open() []*object {
	return slices.SortedFunc(maps.Values(st.objects), func(a, b *object) int {
		return b.Layers[len(b.Layers)-1].ID - a.Layers[len(a.Layers)-1].ID
	})
}

// settable says whether a path can be one of a setting's: a journal that is damaged, or that of
// a tree, which anybody may have written, makes root write to no other file.
func settable(p string) bool {
	if path.Clean(p) != p {
		return false
	}
	return strings.HasPrefix(p, "/sys/") || strings.HasPrefix(p, "/proc/sys/") || settablePower(p)
}
