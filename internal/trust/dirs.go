package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// MkdirAll makes a directory and those above it, as os.MkdirAll does. It follows links as Place does: one of another
// user is refused, since it would let that user choose where we make directories. Errors: *Refused, *fs.PathError.
func MkdirAll(path string, perm fs.FileMode) error {
	given := path
	path, err := filepath.Abs(path)
	if err != nil { // the current directory was deleted: what is above it may be there
		if info, there := os.Stat(given); there == nil && info.IsDir() {
			return nil
		}
		return err
	}
	if _, err = alone.resolve(path, noLinks); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(path)
	if parent == path {
		return err
	}
	if err := MkdirAll(parent, perm); err != nil {
		return err
	}
	dir, base, err := Place(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	err = dir.Mkdir(base, perm)
	if info, there := dir.Lstat(base); errors.Is(err, fs.ErrExist) && there == nil && info.IsDir() {
		return nil // another was quicker
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok { // "mkdirat" and the last name alone tell nobody where
		return &fs.PathError{Op: "cannot make", Path: path, Err: pe.Err}
	}
	return err
}

// Remove removes a file, which it finds as Place does. A link there is removed, and not followed.
func Remove(path string) error {
	dir, base, err := alone.place(path, func(*os.Root, string) bool { return true })
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Remove(base)
}

// OpenPlaced opens a regular file to read that was written by its Place.
func OpenPlaced(path string) (*os.File, error) {
	dir, base, err := Place(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return OpenFile(dir, base, os.O_RDONLY, 0)
}
