package setting

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"hostlab/internal/lockfile"
	"hostlab/internal/trust"
)

// disk is the file system of this process. What lies below a root belongs to a tree that
// anybody may have made: there no link is followed, and no file with a second name is
// touched. Elsewhere nobody but this user and root may have written what is read.
type disk struct{ root *os.Root }

// maxJournal bounds what is read as a journal: one of that size is put back in a few seconds.
const maxJournal = 7 << 20

// below returns a path below the root; not ok: it lies elsewhere.
func (d disk) below(path string) (rel string, ok bool) {
	if d.root == nil {
		return "", false
	}
	rel, err := filepath.Rel(d.root.Name(), path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// dir opens a directory.
func (d disk) dir(path string) (*os.Root, error) {
	rel, ok := d.below(path)
	if !ok {
		return trust.Directory(path)
	}
	return trust.Below(d.root, rel)
}

// in calls f with the directory of a path, and the name in it.
func (d disk) in(path string, f func(dir *os.Root, name string) error) error {
	dir, err := d.dir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return f(dir, filepath.Base(path))
}

// open calls f with an open file, and closes it.
func (d disk) open(path string, flag int, f func(*os.File) error) error {
	return d.in(path, func(dir *os.Root, name string) error {
		// All may read it, since verify needs no rights.
		file, err := trust.OpenFile(dir, name, flag, 0o644)
		if err != nil {
			return err
		}
		if _, tree := d.below(path); tree {
			err = trust.OneName(file) // else a copy of the journal could be one of any file
		} else {
			err = trust.Ours(file) // root writes what it says
		}
		if err == nil {
			err = f(file)
		}
		return errors.Join(err, file.Close())
	})
}

func (d disk) ReadFile(path string) (b []byte, err error) {
	err = d.open(path, os.O_RDONLY, func(f *os.File) (err error) {
		b, err = trust.File(f, maxJournal)
		return err
	})
	return b, err
}

func (d disk) Append(path string, b []byte) error {
	return d.open(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}

func (d disk) Reserve(path string, more int) error {
	return d.open(path, os.O_WRONLY, func(f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if err := reserve(f, info.Size(), int64(more)); err != nil {
			return &fs.PathError{Op: "fallocate", Path: path, Err: err}
		}
		return nil
	})
}

// Sync makes a file's content, or the names in a directory, durable: fsync(2) says that
// a new file needs both. Some file systems cannot do it for directories, and say EINVAL.
func (d disk) Sync(path string) error {
	dir, err := d.dir(path)
	if err != nil { // a file, or nothing
		return d.open(path, os.O_WRONLY, (*os.File).Sync)
	}
	defer dir.Close()
	if runtime.GOOS == "windows" { // NTFS logs changes of names itself, and cannot flush a directory
		return nil
	}
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

func (d disk) Rename(from, to string) error {
	return d.in(from, func(dir *os.Root, name string) error { return dir.Rename(name, filepath.Base(to)) })
}

func (d disk) Remove(path string) error {
	return d.in(path, func(dir *os.Root, name string) error {
		if err := remove(dir, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

func (d disk) MkdirAll(path string) error {
	if dir, err := d.dir(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = dir.Close()
		}
		return err
	}
	parent := filepath.Dir(path)
	if parent == path {
		return &fs.PathError{Op: "mkdir", Path: path, Err: fs.ErrNotExist}
	}
	if err := d.MkdirAll(parent); err != nil {
		return err
	}
	err := d.in(path, func(dir *os.Root, name string) error { return makeDir(dir, name) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.Sync(parent)
}

// lockFile is never removed, so that a lock on it is one on its name.
const lockFile = "settings.lock"

// Lock also refuses a directory that another user could rename or replace, but for one of a tree.
func (d disk) Lock(dir string) (func(), error) {
	name := filepath.Join(dir, lockFile)
	if _, tree := d.below(dir); !tree {
		if err := trusted(dir); err != nil {
			return nil, fmt.Errorf("cannot lock %s: %w", name, err)
		}
		if _, err := trust.Parents(dir); err != nil {
			return nil, fmt.Errorf("cannot lock %s: %w", name, pathless{err})
		}
	}
	root, err := d.dir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w", name, pathless{err})
	}
	l, err := lockfile.Take(root, lockFile, fmt.Sprintf("is changing settings (it has the journal in %s); wait "+
		"until it is done", dir))
	if err != nil {
		root.Close()
		if _, busy := errors.AsType[*lockfile.Busy](err); busy {
			return nil, err
		}
		return nil, fmt.Errorf("cannot lock %s: %w", name, pathless{err})
	}
	return func() {
		l.Release()
		root.Close()
	}, nil
}
