package setting

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// journalFile holds what was changed and is not yet put back. There is none when
// everything is.
const journalFile = "settings.journal"

// Journal is the host's list of what was changed and is not yet put back. One process
// at a time has it open; several goroutines of it may use it, one after the other.
type Journal struct {
	View
	mu     sync.Mutex
	unlock func()
	marked bool // its marks are on the disk
	held   []holding
}

// holding is a file that is kept open for a Held setting.
type holding struct {
	owner, path string
	file        io.Closer
}

// OpenJournal opens and locks the journal of a directory, and reads what a process that
// was killed has left. The error is *lockfile.Busy where another hostlab has it. A journal that
// may not be used opens as well: see Problem.
func OpenJournal(sys *System, dir string) (*Journal, error) {
	if err := sys.Disk.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("cannot make the directory of the journal, %s: %w", dir, pathless{err})
	}
	unlock, err := sys.Disk.Lock(dir)
	if err != nil {
		return nil, err
	}
	j := &Journal{View: View{sys: sys, dir: dir, st: newState()}, unlock: unlock}
	if err := j.load(); err != nil {
		unlock()
		return nil, err
	}
	// Nobody is at work: what an earlier set has intended and not begun never will be.
	if len(j.st.planned) > 0 || j.st.format < format {
		j.st.planned, j.broken = map[string]intent{}, true
	}
	return j, nil
}

// Sizes of a journal in bytes: from which it is rewritten, and up to which a set may make it grow.
// From there to maxJournal is room for what puts back and is killed on the way.
const (
	largeJournal = 4 << 20
	fullJournal  = 6 << 20
)

// shrink rewrites a journal that has grown, long before it is too large to be read: the
// levels of an experiment add lines before every run.
func (j *Journal) shrink() error {
	if j.size > largeJournal {
		return j.rewrite()
	}
	return nil
}

// fits refuses a set that, with the way back from it, would make the journal too large to be read.
func (j *Journal) fits(list []planned) error {
	const write, object = 160, 30 // bytes: a write's two lines, and what a path has beside it
	grown := 0
	for _, p := range list {
		grown += 2*(len(p.Path)+len(p.From)+object) + 2*write
		if p.Side != "" {
			grown += 4 * (len(p.Path) + object) // in the lines of those that disturb it
		}
	}
	if j.exists && j.size+grown > fullJournal {
		if err := j.rewrite(); err != nil {
			return err
		}
	}
	if j.size+grown > fullJournal {
		return fmt.Errorf("%d objects at once would make the journal %s larger than %d MiB, which takes too long to put back; set "+
			"fewer, or revert first",
			len(list), j.path(), fullJournal>>20)
	}
	return nil
}

// clear removes the file. unlink(2) is all or nothing, and if the directory's change is
// lost, the lines that are back say that all is put back. Marks without their journal are damage, so
// they go first: after a kill between the two the journal has no marks, which is none. No file system
// promises the order of two removals over a power cut, so the first is synced before the second.
func (j *Journal) clear() error {
	err := j.unmark()
	if err == nil {
		err = j.sys.Disk.Sync(j.dir)
	}
	if err == nil {
		err = j.sys.Disk.Remove(j.path())
	}
	if err == nil {
		err = j.sys.Disk.Sync(j.dir)
	}
	if err != nil {
		return fmt.Errorf("cannot remove the journal %s: %w", j.path(), pathless{err})
	}
	next := j.st
	j.st = newState()
	j.st.nextID, j.st.nextSet = next.nextID, next.nextSet
	j.st.paths = next.paths
	j.exists, j.broken, j.size = false, false, 0
	return nil
}

// rewrite replaces the file by one that says the same in few lines: written beside it,
// synced and renamed over it, so that at any moment one of both is there (rename(2)). Lines
// that are to be added are in it from the first moment: a journal without a change is damage.
func (j *Journal) rewrite(more ...*record) error {
	var b bytes.Buffer
	id := rand.Text()
	list := []*record{{Kind: "head", Format: format, Host: j.sys.Host(), Journal: id, Set: j.st.atWork}}
	if j.st.damage != "" {
		list = append(list, &record{Kind: "damage", What: j.st.damage})
	}
	open := j.st.open()
	for _, o := range slices.Backward(open) {
		list = append(list, &record{Kind: "object", Object: o})
	}
	list = append(list, more...)
	list[0].Lines = len(list)
	for i, r := range list {
		r.N = i + 1
		line, err := encodeRecord(r)
		if err != nil {
			return err
		}
		b.Write(line)
	}
	next := j.path() + ".new"
	j.broken = true                // until the state is that of the new file
	err := j.sys.Disk.Remove(next) // what a kill has left
	if err == nil {
		err = j.store(next, b.Bytes())
	}
	if err == nil && len(more) > 0 && more[0].Kind == "intend" {
		err = j.sys.Disk.Reserve(next, j.room(more))
	}
	if err != nil {
		_ = j.sys.Disk.Remove(next) // the old file may have room that is reserved
		return fmt.Errorf("cannot rewrite the journal %s: %w", j.path(), pathless{err})
	}
	j.broken = true // until the state is that of the new file
	err = j.sys.Disk.Rename(next, j.path())
	if err == nil {
		err = j.sys.Disk.Sync(j.dir)
	}
	if err != nil {
		return fmt.Errorf("cannot rewrite the journal %s: %w", j.path(), pathless{err})
	}
	// Objects that were intended and not begun are not in the file.
	j.st.lines, j.st.planned, j.st.format, j.st.id = len(list)-len(more), map[string]intent{}, format, id
	j.st.marked, j.marked = false, false
	j.exists, j.broken, j.size = true, false, b.Len()
	if err := j.take(more); err != nil {
		return err
	}
	var settings []string
	for _, o := range open {
		settings = append(settings, o.Setting)
	}
	_ = j.unmark() // those of another journal say nothing of this one
	j.mark(append(settings, intended(more)...))
	return nil
}

// take takes lines that are in the file into the state.
func (j *Journal) take(records []*record) error {
	for _, r := range records {
		if err := j.st.apply(r); err != nil {
			return fmt.Errorf("%s: %w", j.path(), err)
		}
		j.st.lines++
	}
	return nil
}

// room is how much the lines may take that put back what is open and what lines intend:
// for each object that its write began and ended, in some passes, and its part in the lines of
// those that disturb it.
func (j *Journal) room(records []*record) int {
	const each, least = 2 << 10, 4 << 10
	n := len(j.st.objects)
	for _, r := range records {
		n += len(r.Objects)
	}
	return least + n*each
}

// append adds lines and takes them into the state. It returns when they are as
// durable as asked.
func (j *Journal) append(durable bool, records ...*record) error {
	if j.broken || !j.exists {
		return j.rewrite(records...)
	}
	var b bytes.Buffer
	for i, r := range records {
		r.N = j.st.lines + i + 1
		line, err := encodeRecord(r)
		if err != nil {
			return err
		}
		b.Write(line)
	}
	var err error
	if records[0].Kind == "intend" { // before anything is changed, so that a full disk cannot keep it so
		err = j.sys.Disk.Reserve(j.path(), b.Len()+j.room(records))
	}
	if err != nil {
		return fmt.Errorf("cannot reserve room in the journal %s: %w", j.path(), pathless{err})
	}
	err = j.sys.Disk.Append(j.path(), b.Bytes())
	if err == nil && durable {
		err = j.sys.Disk.Sync(j.path())
	}
	if err != nil {
		j.broken = true
		return fmt.Errorf("cannot write the journal %s: %w", j.path(), pathless{err})
	}
	j.size += b.Len()
	if err := j.take(records); err != nil {
		return err
	}
	if settings := intended(records); len(settings) > 0 {
		j.mark(settings)
	}
	return nil
}

// intended are the settings that lines are about to change.
func intended(records []*record) (settings []string) {
	for _, r := range records {
		for _, p := range r.Objects {
			settings = append(settings, p.Setting)
		}
	}
	return settings
}

// Leave closes the journal and goes on to hold its Held settings, until hold is closed: others may
// change settings meanwhile. That is safe, since the journal has nothing of what is held: it ends with its
// process, and its end writes to no file.
func (j *Journal) Leave() (hold io.Closer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	rest := &Journal{held: j.held, unlock: func() {}}
	j.held = nil
	j.unlock()
	j.unlock = func() {}
	return rest
}

// Close unlocks the journal, and ends Held settings.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.release("")
	j.unlock()
	j.unlock = func() {}
	return err
}

// release ends the Held settings of an owner ("" all).
func (j *Journal) release(owner string) error {
	var errs []error
	j.held = slices.DeleteFunc(j.held, func(h holding) bool {
		if owner != "" && h.owner != owner {
			return false
		}
		errs = append(errs, h.file.Close())
		return true
	})
	return errors.Join(errs...)
}
