package setting

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	const write, object = 180, 30 // bytes: a write's two lines, and what a path has beside it
	grown := 0
	for _, p := range list {
		grown += 4*(len(p.Path)+object) + 2*len(p.From) + 2*write // there, and back
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
		return fmt.Errorf("%d objects at once would make the journal %s larger than %d MiB, which takes too long to put "+
			"back; set fewer, or revert first",
			len(list), j.path(), fullJournal>>20)
	}
	return nil
}

// clear removes the file. unlink(2) is all or nothing, and if the directory's change is
// lost, the lines that are back say that all is put back.
func (j *Journal) clear() error {
	err := j.sys.Disk.Remove(j.path())
	if err == nil {
		err = j.sys.Disk.Sync(j.dir)
	}
	if err != nil {
		return fmt.Errorf("cannot remove the journal %s: %w", j.path(), pathless{err})
	}
	j.st = &state{nextID: j.st.nextID, nextSet: j.st.nextSet, objects: map[string]*object{}, planned: map[string]planned{}}
	j.exists, j.broken, j.size = false, false, 0
	return nil
}

// rewrite replaces the file by one that says the same in few lines: written beside it,
// synced and renamed over it, so that at any moment one of both is there (rename(2)). Lines
// that are to be added are in it from the first moment: a journal without a change is damage.
func (j *Journal) rewrite(more ...event) error {
	h := &head{Format: format, Host: j.sys.Host(), Set: j.st.atWork}
	list := []event{h}
	for _, o := range slices.Backward(j.st.open()) {
		list = append(list, o)
	}
	was := len(list)
	list = append(list, more...)
	h.Lines = len(list)
	b, err := encodeLines(1, list)
	if err != nil {
		return err
	}
	next := j.path() + ".new"
	j.broken = true               // until the state is that of the new file
	err = j.sys.Disk.Remove(next) // what a kill has left
	if err == nil {
		err = j.store(next, b)
	}
	if err == nil {
		err = j.reserve(next, 0, more)
	}
	if err != nil {
		_ = j.sys.Disk.Remove(next) // the old file may have room that is reserved
	} else {
		err = j.sys.Disk.Rename(next, j.path())
	}
	if err == nil {
		err = j.sys.Disk.Sync(j.dir)
	}
	if err != nil {
		return fmt.Errorf("cannot rewrite the journal %s: %w", j.path(), pathless{err})
	}
	// Objects that were intended and not begun are not in the file.
	clear(j.st.planned)
	j.st.lines, j.exists, j.broken, j.size = was, true, false, len(b)
	return j.take(more)
}

func encodeLines(n int, events []event) ([]byte, error) {
	var b bytes.Buffer
	for i, e := range events {
		line, err := encodeLine(n+i, e)
		if err != nil {
			return nil, err
		}
		b.Write(line)
	}
	return b.Bytes(), nil
}

// take takes lines that are in the file into the state.
func (j *Journal) take(events []event) error {
	for _, e := range events {
		if err := e.apply(j.st); err != nil {
			return fmt.Errorf("%s: %w", j.path(), err)
		}
		j.st.lines++
	}
	return nil
}

// reserve makes room, before anything is changed, for the lines that put back what is open and what events intend,
// so that a full disk cannot keep it so: for each object that its write began and ended, in some passes, and
// its part in the lines of those that disturb it.
func (j *Journal) reserve(file string, now int, events []event) error {
	const each, least = 2 << 10, 4 << 10
	n, intends := len(j.st.objects), false
	for _, e := range events {
		if in, ok := e.(*intend); ok {
			n, intends = n+len(in.Objects), true
		}
	}
	if !intends {
		return nil
	}
	return j.sys.Disk.Reserve(file, now+least+n*each)
}

// append adds lines and takes them into the state. It returns when they are as
// durable as asked.
func (j *Journal) append(durable bool, events ...event) error {
	if j.broken || !j.exists {
		return j.rewrite(events...)
	}
	b, err := encodeLines(j.st.lines+1, events)
	if err != nil {
		return err
	}
	if err := j.reserve(j.path(), len(b), events); err != nil {
		return fmt.Errorf("cannot reserve room in the journal %s: %w", j.path(), pathless{err})
	}
	err = j.sys.Disk.Append(j.path(), b)
	if err == nil && durable {
		err = j.sys.Disk.Sync(j.path())
	}
	if err != nil {
		j.broken = true
		return fmt.Errorf("cannot write the journal %s: %w", j.path(), pathless{err})
	}
	j.size += len(b)
	return j.take(events)
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

// Accept takes what could be read of a journal with a problem as this machine's. The
// file itself is kept beside the new one, under the name that is returned.
func (j *Journal) Accept() (kept string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.problem == nil {
		return "", nil
	}
	kept, err = j.keep()
	if err != nil {
		return "", err
	}
	if len(j.st.objects) == 0 {
		err = j.clear()
	} else {
		err = j.rewrite()
	}
	if err != nil {
		return kept, err
	}
	j.problem = nil
	return kept, nil
}

// keep copies the journal beside itself, under a name that is free.
func (j *Journal) keep() (string, error) {
	b, err := j.sys.Disk.ReadFile(j.path())
	if err != nil {
		return "", fmt.Errorf("cannot read the journal %s: %w", j.path(), pathless{err})
	}
	name := j.path() + "." + j.sys.Now().UTC().Format("20060102T150405")
	for n := 1; ; n++ {
		if _, err := j.sys.Disk.ReadFile(name); errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = fmt.Sprintf("%s.%s-%d", j.path(), j.sys.Now().UTC().Format("20060102T150405"), n)
	}
	if err := j.store(name, b); err != nil {
		return "", err
	}
	return name, nil
}

// store writes a file in the journal's directory and makes it durable.
func (j *Journal) store(name string, b []byte) error {
	err := j.sys.Disk.Append(name, b)
	if err == nil {
		err = j.sys.Disk.Sync(name)
	}
	if err == nil {
		err = j.sys.Disk.Sync(j.dir)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, pathless{err})
	}
	return nil
}

// Forget drops the open entries of an owner ("" all) and leaves the values as they
// are. A journal with a problem is set aside as a whole, for any owner: it is kept beside
// the new one, under the name that is returned.
func (j *Journal) Forget(owner string) (kept string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.problem != nil {
		if kept, err = j.keep(); err != nil {
			return "", err
		}
		if err := j.clear(); err != nil {
			return kept, err
		}
		j.problem = nil
		return kept, nil
	}
	var paths []string
	for _, o := range j.st.open() {
		if owner == "" || o.Owner == owner {
			paths = append(paths, o.Path)
		}
	}
	return "", j.drop(paths)
}

// drop removes objects, and the file with the last of them.
func (j *Journal) drop(paths []string) error {
	if len(paths) > 0 {
		dropped := &drop{paths}
		if err := j.append(true, dropped); err != nil {
			// The disk may be full: what all is put back needs no line that says so.
			if e := dropped.apply(j.st); e != nil || len(j.st.objects) > 0 {
				return err
			}
		}
	}
	if j.exists && len(j.st.objects) == 0 { // also an intent that came to nothing
		return j.clear()
	}
	return nil
}

// Tidy removes a journal in which nothing is open, as a kill leaves one between the first line and
// the first write, or between the last line and its removal. One that is in use is left.
func (v *View) Tidy() error {
	if !v.exists {
		return nil
	}
	j, err := OpenJournal(v.sys, v.dir)
	if err != nil {
		return err
	}
	if j.problem == nil {
		err = j.drop(nil)
	}
	return errors.Join(err, j.Close())
}
