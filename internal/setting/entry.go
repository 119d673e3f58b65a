package setting

import (
	"slices"
	"time"
)

// Entry is one object that was changed, and is not put back.
type Entry struct {
	Set      int    // number of the set of changes that it belongs to
	Owner    string // who made it: "set", or the directory of an experiment
	At       time.Time
	Boot     string
	Setting  string
	Object   Object
	Original string // before the owner's first change
	Wrote    string // what was last written
	Read     string // what it read afterwards; "" if the process ended before it could
	Side     string // not set itself: this setting changes it too; "" otherwise
	// Forgotten: the machine has started again since, which has put it back.
	Forgotten bool
}

// Entries are the open ones: changed and not put back, oldest first.
func (j *Journal) Entries() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.st.entries(j.sys.Boot())
}

func (st *state) entries(boot string) []Entry {
	type numbered struct {
		id int
		e  Entry
	}
	var all []numbered
	for _, o := range st.objects {
		for _, l := range o.Layers {
			e := Entry{Set: l.Set, Owner: l.Owner, At: l.At, Boot: o.Boot, Setting: o.Setting, Object: o.object(),
				Original: l.Original, Wrote: o.Wrote, Side: l.Side, Forgotten: rebooted(o, boot)}
			if o.Done {
				e.Read = o.Ours
			}
			all = append(all, numbered{l.ID, e})
		}
	}
	slices.SortFunc(all, func(a, b numbered) int { return a.id - b.id })
	out := make([]Entry, len(all))
	for i, n := range all {
		out[i] = n.e
	}
	return out
}
