package setting

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// state is what the lines of a journal add up to.
type state struct {
	host    string
	lines   int                // good ones
	least   int                // lines that there were from the first
	began   bool               // a line names what was changed
	nextID  int                // of objects
	nextSet int                // of sets
	intent  intend             // of the last set, but for its objects
	planned map[string]planned // of the last set, by path: intended, and not begun
	atWork  int                // the last set, until it has ended; 0: it has
	objects map[string]*object // by path
}

func newState() *state {
	return &state{nextID: 1, nextSet: 1, objects: map[string]*object{}, planned: map[string]planned{}}
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
	for n, rest := 1, b; len(rest) > 0; n++ {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		rest = after
		number, e, err := decodeLine(line)
		if !whole || err != nil && problem == nil && len(rest) == 0 && !sealed(line) {
			torn = true // not all sectors of the last line may have reached the disk
			break
		}
		if err == nil {
			err = e.apply(st)
		}
		st.lines++
		if problem == nil && err == nil && number != n {
			err = fmt.Errorf("it says that it is line %d: lines before it are missing, or were added", number)
		}
		if problem == nil && err != nil {
			problem = &Problem{Line: n, What: err.Error()}
		}
		if _, first := e.(*head); first && err != nil { // of a newer hostlab
			break
		}
	}
	switch {
	case problem != nil:
	// hostlab leaves no journal without a change: the file is renamed into its place once its
	// first change is in it and on the disk.
	case len(b) == 0:
		problem = &Problem{Kind: Lost, Line: 1, What: "it is empty"}
	case len(bytes.Trim(b, "\x00")) == 0:
		problem = &Problem{Kind: Lost, Line: 1, What: "it holds zero bytes alone"}
	case !st.began:
		problem = &Problem{Kind: Lost, Line: 1, What: "it names no change"}
	case st.lines < st.least:
		problem = &Problem{Line: st.lines + 1, What: fmt.Sprintf("it ends before this line, and had %d lines", st.least)}
	}
	return st, torn, problem
}

// sealed reports a line whose checksum fits: it was written so.
func sealed(line []byte) bool {
	_, err := intact(line)
	return err == nil
}

func (h *head) apply(st *state) error {
	st.host, st.atWork, st.least = h.Host, h.Set, h.Lines
	if h.Format != format {
		return fmt.Errorf("another version of hostlab wrote it (format %d; this one knows %d)", h.Format, format)
	}
	return nil
}

func (in *intend) apply(st *state) error {
	st.began = true
	for _, p := range in.Objects {
		if !settable(p.Path) {
			return fmt.Errorf("%q is no path of a setting", p.Path)
		}
	}
	st.enter(in.Set)
	st.intent = intend{Set: in.Set, Owner: in.Owner, At: in.At, Boot: in.Boot}
	for _, p := range in.Objects {
		st.planned[p.Path] = p
		st.nextID = max(st.nextID, p.ID+1)
	}
	return nil
}

// enter begins or goes on with a set. What an earlier one has intended and not begun never will be.
func (st *state) enter(set int) {
	if st.intent.Set != set {
		clear(st.planned)
		st.intent = intend{Set: set}
	}
	st.atWork, st.nextSet = set, max(st.nextSet, set+1)
}

// apply makes an intended object, and those that it disturbs, ours: from now on they may have been written.
func (b *begin) apply(st *state) error {
	st.enter(b.Set)
	o := st.take(b.Path)
	if o == nil {
		return fmt.Errorf("%s was not intended", b.Path)
	}
	o.Wrote, o.Done = b.To, false
	o.Maybe = append(o.Maybe, b.To)
	o.Any = o.Any || b.Any
	for _, s := range b.Sides {
		if side := st.take(s.Path); side != nil {
			side.disturbed(s)
		}
	}
	return nil
}

func (d *done) apply(st *state) error {
	o := st.objects[d.Path]
	if o == nil {
		return fmt.Errorf("the write of %s ended, which had not begun", d.Path)
	}
	if d.Read != nil {
		o.settle(*d.Read)
	}
	for path, v := range d.Saw {
		// Any other value was written by another program.
		if side := st.objects[path]; side != nil && side.mine(v) {
			done := side.Done
			side.settle(v)
			side.Done = done
		}
	}
	return nil
}

func (d *drop) apply(st *state) error {
	for _, path := range d.Paths {
		delete(st.objects, path)
		delete(st.planned, path)
	}
	return nil
}

func (e *end) apply(st *state) error {
	if st.intent.Set == e.Set {
		clear(st.planned)
	}
	if st.atWork == e.Set {
		st.atWork = 0
	}
	return nil
}

// take opens an object that the last set has intended, and returns it; nil: there is no such.
func (st *state) take(path string) *object {
	o := st.objects[path]
	p, ok := st.planned[path]
	if !ok {
		return o
	}
	delete(st.planned, path)
	if o == nil || p.Fresh {
		o = &object{ID: p.ID, Path: path, Set: st.intent.Set, Owner: st.intent.Owner, At: st.intent.At,
			Original: p.From, Ours: p.From, Side: p.Side}
		st.objects[path] = o
	} else if p.Side == "" {
		o.Side = ""
	}
	o.Setting, o.Name, o.Lasting, o.Boot = p.Setting, p.Name, p.Lasting, st.intent.Boot
	return o
}

// undecided opens what the last set has intended, and may have begun although no line says so; took: there
// was such. A reboot may have taken the lines that would say so, since they are not synced, and the kernel
// has forgotten the rest. Otherwise only a journal that was cut lacks them: what reads as it did was not begun.
func (st *state) undecided(sys *System, boot string) (took bool) {
	for _, path := range slices.Sorted(maps.Keys(st.planned)) {
		p, known := st.planned[path], st.objects[path]
		if forgotten(p.Lasting, st.intent.Boot, boot) {
			if known == nil || p.Fresh {
				st.take(path)
				took = true
			}
			continue
		}
		v, err := sys.setting(p.Setting).read(sys, Object{Name: p.Name, Path: path})
		done := p.To != "" && v == p.To
		if err != nil || v == p.From || known != nil && !done {
			continue
		}
		o := st.take(path)
		o.Wrote, o.Done, took = p.To, false, true
	}
	clear(st.planned)
	return took
}

// unended reports that the last set has not ended, and that the kernel has not forgotten it since.
func (st *state) unended(boot string) bool {
	if st.atWork == 0 {
		return false
	}
	for _, o := range st.objects {
		if !o.rebooted(boot) {
			return true
		}
	}
	for _, p := range st.planned {
		if !forgotten(p.Lasting, st.intent.Boot, boot) {
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

// open lists the objects, the last intended first: the order of undoing.
func (st *state) open() []*object {
	return slices.SortedFunc(maps.Values(st.objects), func(a, b *object) int { return b.ID - a.ID })
}

// settable says whether a path can be one of a setting's: a journal that is damaged, or that of
// a tree, which anybody may have written, makes root write to no other file.
func settable(p string) bool {
	if path.Clean(p) != p {
		return false
	}
	ofInterrupt := strings.HasPrefix(p, irqDir) && path.Base(p) == irqList
	return strings.HasPrefix(p, "/sys/") || strings.HasPrefix(p, "/proc/sys/") || ofInterrupt || settablePower(p)
}
