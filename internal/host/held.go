package host

import (
	"bytes"
	"io"
	"os"
)

// Holder keeps files open that are read again and again, once a second or more
// often: opening one costs several times what reading it does, and a host with
// 512 CPUs has some 3,000 of them. It holds up to a number of files, beyond
// which they are opened for each reading. It is not safe for concurrent use, but
// different Held of it are once each has been read.
type Holder struct {
	tree Tree
	left int
	open []*Held
}

func NewHolder(t Tree, most int) *Holder { return &Holder{tree: t, left: most} }

// Close closes all its files.
func (h *Holder) Close() {
	for _, f := range h.open {
		f.shut()
	}
	h.open = nil
}

// Held is one file of a Holder.
type Held struct {
	tree Tree
	path string
	keep bool
	file *os.File // nil: not open
}

// File returns a file of the machine, which need not exist.
func (h *Holder) File(path string) *Held {
	f := &Held{tree: h.tree, path: path, keep: h.left > 0}
	if f.keep {
		h.left--
		h.open = append(h.open, f)
	}
	return f
}

// Read returns the content as it is now, without white space at its ends. It lies
// in *buf, which grows as needed and must not be used for another file before
// the content has been. A file that went and came back, as those of a CPU that
// was offline, is opened again. Errors are those of Tree.Read.
func (f *Held) Read(buf *[]byte) ([]byte, error) {
	for try := 0; f.keep && try < 2; try++ {
		if f.file == nil {
			var err error
			if f.file, err = f.tree.file(f.path); err != nil {
				break
			}
			f.tree.noted(f.path, note{content: true})
		}
		b, err := f.whole(buf)
		if err == nil && (f.tree.Live() || marked(b) == nil) {
			return bytes.TrimSpace(b), nil
		}
		f.shut()
	}
	b, err := f.tree.Read(f.path) // also for its words about errors
	return bytes.TrimSpace(b), err
}

// whole reads the file from its start. sysfs and procfs make their content anew for a
// reading from there (kernfs_fop_read_iter and seq_read_iter, Linux 6.12).
func (f *Held) whole(buf *[]byte) ([]byte, error) {
	if len(*buf) == 0 {
		*buf = make([]byte, 4096)
	}
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	for n := 0; ; {
		m, err := f.file.Read((*buf)[n:])
		if err != nil && err != io.EOF { //nolint:errorlint // as io.Reader gives it
			return nil, err
		}
		n += m
		// What does not fill the buffer is whole where a file is one value, and /proc/stat
		// comes in one piece too (single_open_size); an end is read only behind a full one.
		if n < len(*buf) {
			return (*buf)[:n], nil
		}
		if n > maxFile {
			return nil, errTooLarge
		}
		*buf = append(*buf, make([]byte, len(*buf))...)
	}
}

func (f *Held) shut() {
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
}
