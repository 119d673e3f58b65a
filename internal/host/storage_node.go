package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"hostlab/internal/trust"
)

// rawDevice stands for the type of the file system where there is none, as below
// a database that writes to a block device itself (Oracle ASM).
const rawDevice = "none (raw block device)"

// Raw reports whether the path asked about is a block device itself.
func (s Storage) Raw() bool { return s.FSType.Or("") == rawDevice }

// errNotHeld is what a recording says of a path that was not asked about when it was
// made: where it would lie is a guess.
var errNotHeld = errors.New("the recording does not hold it")

// blockNode returns the kernel's name of the block device that a path is; "" if
// it is a directory or a file, which stands for its directory. Any other kind of
// file is an error, since no log can lie there. A recording has no nodes, so
// there the names below /dev are looked up in sysfs.
func (s *stack) blockNode(v view, resolved string) (string, error) {
	if !v.t.Live() {
		if path.Dir(resolved) != "/dev" && !strings.HasPrefix(resolved, "/dev/mapper/") {
			return "", nil
		}
		if name := s.sourceName(resolved); s.block.dir(name) != "" {
			return name, nil
		}
		return "", nil
	}
	n, err := nodeOf(v.root + resolved)
	if err != nil {
		return "", &fs.PathError{Op: "stat", Path: resolved, Err: trust.Bare(err)}
	}
	switch {
	case n.mode.IsDir() || n.mode.IsRegular():
		return "", nil
	case n.mode&fs.ModeDevice != 0 && n.mode&fs.ModeCharDevice == 0:
		name := s.block.byNumber(n.number)
		if name == "" {
			return "", fmt.Errorf("/sys does not show the block device %s", n.number)
		}
		return name, nil
	}
	return "", fmt.Errorf("it is %s, which stores nothing", kindOfNode(n.mode))
}

// node is what a path of the machine itself is.
type node struct {
	mode   fs.FileMode
	owner  int
	number string // MAJ:MIN of a device
}

func kindOfNode(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeCharDevice != 0:
		return "a character device"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "neither a directory nor a file"
}

// held reports whether a recording tells anything of a path: it has it, or its
// attributes, or it is mounted there.
func (v view) held(resolved string, mnt *mount) bool {
	p := path.Clean(v.root + resolved)
	return v.t.Live() || mnt.point == resolved || v.t.Exists(p) || v.t.Exists(statxDir+p)
}

func (s *stack) rawStorage(asked, node, name string) Storage {
	s.add(name, 0)
	dir := s.block.dir(name)
	out := unknownStorage(asked, node, none("it is a block device, without a file system"))
	out.Resolved = Known(node, "", asked)
	out.FSType = Known(rawDevice, "", dir)
	out.Device = Known(node, "", dir)
	out.Class = s.class(classSource(s, dir))
	out.ReadOnly = s.block.t.Bool(dir + "/ro")
	out.Stack, out.Below = s.layers, append(out.Below, s.mounts...)
	return out
}
