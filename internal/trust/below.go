package trust

import (
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
