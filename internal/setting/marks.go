package setting

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// marksFile says how many lines the journal must have. One that was cut between two sets
// looks whole by itself; marks lie in another file, and name what the lost lines changed.
//
// A mark is written once its lines are on the disk, and before what they intend is. So
// neither a kill nor a power cut leaves a mark that the journal lacks: that is damage.
// The first mark is synced, and the first write's line says so: a journal that had marks and has
// none is damaged too. Later ones are not synced, since a lost one hides a cut at most. Each
// has the ID of its journal, which is another one in each new file, since marks may outlive
// the journal.
const marksFile = "settings.marks"

func (v *View) marksPath() string { return filepath.Join(v.dir, marksFile) }

// mark says that the lines so far are on the disk, and which settings the last of them
// may change. A mark that cannot be written is no reason to stop, as one that is lost is none.
func (j *Journal) mark(settings []string) {
	slices.Sort(settings)
	b, err := encodeRecord(&record{N: j.st.lines, Kind: "mark", Journal: j.st.id, Settings: slices.Compact(settings)})
	if err == nil {
		err = j.sys.Disk.Append(j.marksPath(), append([]byte("\n"), b...)) // behind a piece that a full disk has left
	}
	if err == nil && !j.st.marked && !j.marked {
		err = j.sys.Disk.Sync(j.marksPath())
		if err == nil {
			err = j.sys.Disk.Sync(j.dir)
		}
		j.marked = err == nil
	}
}

// unmark removes marks of journals that are no more.
func (j *Journal) unmark() error { return j.sys.Disk.Remove(j.marksPath()) }

// marks reads what marks there are. It is done before the journal is read, since another
// process may be adding to both.
func (v *View) marks() (list []*record, _ error) {
	b, err := v.sys.Disk.ReadFile(v.marksPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot read the list of changes beside the journal, %s: %w; remove it. Changes that the journal "+
			"lacks may still be in force", v.marksPath(), pathless{err})
	}
	for line := range bytes.Lines(b) {
		if r, err := decodeRecord(bytes.TrimSuffix(line, []byte("\n"))); err == nil && r.Kind == "mark" {
			list = append(list, r)
		}
	}
	return list, nil
}

// missing is the problem of a journal that has fewer lines than its marks, or than it had from the first;
// nil: it has all.
func (st *state) missing(marks []*record) *Problem {
	var later []*record
	lines := max(st.lines, st.least)
	for _, m := range marks {
		if m.Journal == st.id && m.N > st.lines {
			later, lines = append(later, m), max(lines, m.N)
		}
	}
	if lines == st.lines {
		return nil
	}
	what := fmt.Sprintf("it ends before this line, and had %d lines", lines)
	if len(later) == 0 {
		what += ". Nothing names what those have changed that are lost"
	}
	return &Problem{Line: st.lines + 1, What: what, Names: lost(later)}
}

// gone is the problem of marks whose journal is gone; nil: there are none. They are read once more, since
// another process may have cleared both meanwhile: it removes the marks first, so those that are still there
// had no journal between the two looks.
func (v *View) gone(before []*record) (*Problem, error) {
	if len(before) == 0 {
		return nil, nil
	}
	after, err := v.marks()
	after = slices.DeleteFunc(after, func(m *record) bool {
		return !slices.ContainsFunc(before, func(b *record) bool { return b.Journal == m.Journal })
	})
	if err != nil || len(after) == 0 {
		return nil, err
	}
	return &Problem{Kind: Removed, Path: v.path(), Names: lost(after)}, nil
}

// unmarked reports that a journal's marks were there and are gone, while something is open. They are read
// once more, since they were read before the journal.
func (v *View) unmarked(marks []*record) (bool, error) {
	ours := func(m *record) bool { return m.Journal == v.st.id }
	if !v.st.marked || v.st.none() || slices.ContainsFunc(marks, ours) {
		return false, nil
	}
	marks, err := v.marks()
	return !slices.ContainsFunc(marks, ours), err
}

// unread names the settings of a damaged journal's marks that its lines do not name: a line that cannot be
// read may be theirs. Without its ID, as where the head is lost, all marks may be its own.
func unread(marks []*record, id string, named []string) []string {
	var ours []*record
	for _, m := range marks {
		if id == "" || m.Journal == id {
			ours = append(ours, m)
		}
	}
	return slices.DeleteFunc(lost(ours), func(name string) bool {
		plain, _, _ := strings.Cut(name, " ")
		return slices.ContainsFunc(named, func(n string) bool { return n == name || n == plain || strings.HasPrefix(n, plain+" ") })
	})
}

// lost names the settings of marks whose lines are lost.
func lost(marks []*record) []string {
	names := map[string]bool{}
	for _, m := range marks {
		for _, name := range m.Settings {
			names[name+" (what it was is lost)"] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
