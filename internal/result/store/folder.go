package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hostlab/internal/lockfile"
	"hostlab/internal/trust"
)

// folder is the directory of a record, held open: a user who renames it meanwhile gives us no
// other one. Its files are opened in it without links.
type folder struct {
	*os.Root
	name string // as it was named to us
	// ours refuses what another user has written or could write: the commands of a record
	// that is run are run as this user. Reading needs no such thing.
	ours bool
}

// Name is the directory as it was named to us.
func (f *folder) Name() string { return f.name }

func openFolder(dir string, ours bool) (*folder, error) {
	open := trust.Directory
	if ours {
		open = trust.Held // workloads get its name
	}
	root, err := open(dir)
	if r, ok := errors.AsType[*trust.Refused](err); ok && filepath.Base(r.Path) != filepath.Base(dir) {
		return nil, r // it is about a directory above
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, why(err))
	}
	f := &folder{root, dir, ours}
	if err := f.owned(); err != nil {
		root.Close()
		return nil, err
	}
	return f, nil
}

// owned refuses a directory to run from in which anything of the record is another's, before
// any of it is opened for writing.
func (f *folder) owned() error {
	if !f.ours {
		return nil
	}
	dir, err := f.Open(".")
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), why(err))
	}
	defer dir.Close()
	if err := trust.Ours(dir); err != nil {
		return f.foreign(err)
	}
	for _, name := range []string{headFile, studyFile, runsFile, levelsFile, endFile, LockFile} {
		file, err := f.open(name, os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, refused := errors.AsType[*trust.Refused](err); refused {
			return fmt.Errorf("%s: %w; a record has plain files alone, so look who made it and remove it",
				filepath.Join(f.Name(), name), why(err))
		}
		if err != nil {
			return err
		}
		file.Close()
	}
	return nil
}

// foreign says of what is another user's what to do.
func (f *folder) foreign(err error) error {
	r, ok := errors.AsType[*trust.Refused](err)
	if !ok {
		return err
	}
	if f.present() != nil {
		return fmt.Errorf("%s %s, so that what is recorded there could be changed; name a new directory",
			filepath.Clean(r.Path), r.Why)
	}
	return fmt.Errorf(
		"%s %s, and the commands of a record would be run as you; read those in %s, then copy the record as "+
			"yourself (cp -r) and name the copy, or run as that user",
		filepath.Clean(r.Path), r.Why, filepath.Join(f.Name(), studyFile))
}

func (f *folder) open(name string, flag int) (*os.File, error) {
	file, err := trust.OpenFile(f.Root, name, flag, 0o644)
	if err != nil || !f.ours {
		return file, err
	}
	if err := trust.Ours(file); err != nil {
		file.Close()
		return nil, f.foreign(err)
	}
	return file, nil
}

// read reads a file of at most limit bytes.
func (f *folder) read(name string, limit int64) ([]byte, error) {
	file, err := f.open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return trust.File(file, limit)
}

func (f *folder) lock() (*lockfile.Lock, error) {
	l, err := lockfile.Take(f.Root, LockFile, fmt.Sprintf("is running in %s; wait for it, or name another directory",
		f.Name()))
	if _, busy := errors.AsType[*lockfile.Busy](err); err != nil && !busy {
		err = fmt.Errorf("cannot lock %s: %w", filepath.Join(f.Name(), LockFile), why(err))
	}
	return l, err
}

// present reports a directory without a record.
func (f *folder) present() error {
	switch _, err := f.Lstat(headFile); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s %w (there is no %s in it)", f.Name(), ErrNone, headFile)
	case err != nil:
		return fmt.Errorf("%s: %w", filepath.Join(f.Name(), headFile), why(err))
	}
	return nil
}
