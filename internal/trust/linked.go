package trust

import (
	"io/fs"
	"os"
	"path/filepath"
)

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
