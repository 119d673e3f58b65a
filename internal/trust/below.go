package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Directory opens a directory. Other than os.OpenRoot it does not wait for the writer of a FIFO.
func Directory(path string) (*os.Root, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &Refused{Path: path, Why: "is " + kind(info.Mode()) + ", not a directory"}
	}
	return os.OpenRoot(path)
}

// Below opens a directory below root and follows no link on the way, not even one that
// stays below root. Errors: *Refused, *fs.PathError.
func Below(root *os.Root, path string) (*os.Root, error) {
	at := root
	for name := range strings.SplitSeq(filepath.Clean(path), string(filepath.Separator)) {
		next, err := child(at, name)
		if at != root {
			at.Close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// child opens a directory in root.
func child(root *os.Root, name string) (*os.Root, error) {
	path := filepath.Join(root.Name(), name)
	named, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !named.IsDir() {
		return nil, &Refused{Path: path, Why: "is " + kind(named.Mode()) + ", not a directory"}
	}
	dir, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	open, err := dir.Stat(".")
	if err == nil && !os.SameFile(open, named) {
		err = &Refused{Path: path, Why: "was replaced while it was opened"}
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// OneName refuses an open file with a second hard link, since its other name may be anywhere.
func OneName(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return oneName(f.Name(), info)
}

func oneName(path string, info fs.FileInfo) error {
	if n := links(info); n > 1 {
		return &Refused{Path: path, Why: fmt.Sprintf("has %d names (hard links)", n)}
	}
	return nil
}

// OpenWithin is OpenLinked below root: links that stay in it are followed.
func OpenWithin(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &Refused{Path: filepath.Join(root.Name(), name), Why: "is " + kind(info.Mode()) + ", not a regular file"}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Kind names what is not a regular file, as "a FIFO".
func Kind(m fs.FileMode) string { return kind(m) }

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
