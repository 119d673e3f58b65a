package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"hostlab/internal/lockfile"
)

// Registry is a directory that names the records whose changes may be in force: a file each, called by the
// experiment's ID, with the record's directory in it. What was not put back is found there after a power cut.
type Registry string

// Registered is a record that a Registry names.
type Registered struct{ ID, Dir string }

const maxRegistered = 4 << 10 // bytes: PATH_MAX

// alone is the lock of the one experiment that may change something.
const alone = ".running"

// Lock keeps a second experiment of this user away until the lock is released. The error may be a *lockfile.Busy.
func (r Registry) Lock(work string) (*lockfile.Lock, error) {
	f, err := r.made()
	if err != nil {
		return nil, err
	}
	return lockfile.Take(f.Root, alone, work)
}

// made opens the directory, which is made where it is not there.
func (r Registry) made() (*folder, error) {
	if _, err := makeDir(string(r)); err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", r, why(err))
	}
	return openFolder(string(r), true)
}

// Locked reports the process that has the lock, 0 where it has not said.
func (r Registry) Locked() (pid int, held bool) {
	f, err := openFolder(string(r), false)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	return lockfile.Holder(f.Root, alone)
}

// Add names a record, durably, before anything is changed.
func (r Registry) Add(e Registered) error {
	at, err := filepath.Abs(e.Dir)
	if err != nil {
		return err
	}
	f, err := r.made()
	if err != nil {
		return err
	}
	defer f.Close()
	return f.writeWhole(e.ID, []byte(at+"\n"))
}

// Remove takes a record out, of which nothing is changed any more. One that is not there is none.
func (r Registry) Remove(id string) error {
	f, err := openFolder(string(r), true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Remove(id); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("cannot remove %s: %w", filepath.Join(string(r), id), why(err))
	}
	return syncDir(f.Name())
}

// List returns what is registered, in the order of the directories. To run commands of the records (ours), one that
// another user has written, or could write, is refused.
func (r Registry) List(ours bool) (list []Registered, err error) {
	f, err := openFolder(string(r), ours)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := fs.ReadDir(f.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, why(err))
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") { // not complete when its writer was killed
			continue
		}
		b, err := f.read(e.Name(), maxRegistered)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(string(r), e.Name()), why(err))
		}
		dir := strings.TrimSuffix(string(b), "\n")
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("%s names no directory", filepath.Join(string(r), e.Name()))
		}
		list = append(list, Registered{ID: e.Name(), Dir: dir})
	}
	slices.SortStableFunc(list, func(a, b Registered) int { return strings.Compare(a.Dir, b.Dir) })
	return list, nil
}
