package host

import "bytes"

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

// NewHolder returns a holder of at most most files of the tree.
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
	file heldFile
}

// File returns a file of the machine, which need not exist.
func (h *Holder) File(path string) *Held {
	f := &Held{tree: h.tree, path: path, file: notOpen, keep: h.left > 0}
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
	if f.keep {
		b, err := f.again(buf)
		if err == nil {
			if !f.tree.Live() {
				err = marked(b)
			}
			if err == nil {
				return bytes.TrimSpace(b), nil
			}
		}
	}
	b, err := f.tree.Read(f.path) // also for its words about errors
	return bytes.TrimSpace(b), err
}
