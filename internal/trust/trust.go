// Package trust opens what this process may act upon: files and directories that nobody
// but its own user and root could have written, renamed or replaced. Everything below a
// directory is reached through an [os.Root], so that a path that changes meanwhile does
// not change what is opened.
package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Refused is the error of a path that another user controls, or that is no regular file.
type Refused struct {
	Path string
	Why  string // a clause whose subject is the path: "belongs to uid 1000"

	other bool // Why ends with who else controls it
}

func (r *Refused) Error() string { return r.Path + " " + r.Why }

// Bare drops operation and path from an error of a file or of a program, for lines that name it.
func Bare(err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// OpenFile opens a regular file below root. It never follows a link at name, never waits
// for a FIFO, and truncates (os.O_TRUNC) only after its checks. A file with a second hard
// link is refused when it is opened for writing, since its other name may be anywhere.
// Errors: *Refused, *fs.PathError.
func OpenFile(root *os.Root, name string, flag int, perm fs.FileMode) (*os.File, error) {
	path := filepath.Join(root.Name(), name)
	named, err := root.Lstat(name)
	switch {
	case err == nil && !named.Mode().IsRegular():
		return nil, &Refused{Path: path, Why: "is " + kind(named.Mode()) + ", not a regular file"}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	f, err := root.OpenFile(name, flag&^os.O_TRUNC|nonblock, perm)
	if err != nil {
		return nil, err
	}
	if err := check(root, name, f, flag); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func OpenRegular(path string) (*os.File, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return OpenFile(root, filepath.Base(path), os.O_RDONLY, 0)
}

// OpenLinked is OpenRegular that follows links.
func OpenLinked(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &Refused{Path: path, Why: "is " + kind(info.Mode()) + ", not a regular file"}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Secret refuses an open file with a secret in it that other users may read or write, as
// libpq does with ~/.pgpass (src/interfaces/libpq/fe-connect.c, passwordFromFile).
func Secret(f *os.File) error { return secret(f, false) }

// SecretKey is Secret for a private key, which root may also give to a group to read, as
// libpq has it (fe-secure-openssl.c, initialize_SSL).
func SecretKey(f *os.File) error { return secret(f, true) }

func secret(f *os.File, key bool) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if exposed(info, key) {
		return &Refused{Path: f.Name(),
			Why: fmt.Sprintf("holds a secret that other users may read or change (mode %04o); give it mode 0600",
				info.Mode().Perm())}
	}
	if why := caller().foreign(info, func() ([]byte, error) { return openList(f) }); why != "" {
		return &Refused{Path: f.Name(), Why: why + "; use a file of your own"}
	}
	return nil
}

func check(root *os.Root, name string, f *os.File, flag int) error {
	path := filepath.Join(root.Name(), name)
	open, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if !open.Mode().IsRegular() || !os.SameFile(open, named) {
		return &Refused{Path: path, Why: "was replaced while it was opened"}
	}
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		if err := oneName(path, open); err != nil {
			return err
		}
	}
	if flag&os.O_TRUNC != 0 && open.Size() > 0 {
		return f.Truncate(0)
	}
	return nil
}

func kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	if m.IsRegular() {
		return "a file"
	}
	return "a device"
}

// OpenDir opens a directory without following a link anywhere on the way to it, so that
// nobody can lead this process elsewhere. Errors: *Refused, *fs.PathError.
func OpenDir(path string) (*os.Root, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	top := filepath.VolumeName(path) + string(filepath.Separator)
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if path == top {
		return root.OpenRoot(".")
	}
	return Below(root, strings.TrimPrefix(path, top))
}

// Ours refuses an open file or directory that another user owns or may write to.
func Ours(f *os.File) error { return alone.owns(f) }

func (us users) owns(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if why := us.foreign(info, func() ([]byte, error) { return openList(f) }); why != "" {
		return &Refused{Path: f.Name(), Why: why}
	}
	return nil
}

// maxLinks bounds the links of one path, as the kernel does (path_resolution(7)).
const maxLinks = 40

// Parents refuses a directory that another user could rename or replace: path, each
// directory above it and each link on the way must belong to this user or to root, and no
// other may write to them. A directory like /tmp is allowed above path, since its sticky
// bit keeps others from renaming what is not theirs. Parents returns the path without
// links; as long as the answer is nil it stays what it is.
func Parents(path string) (string, error) { return alone.resolve(path, strict) }

// Holder is Parents for a directory in which one of ours is to be: path itself may be like
// /tmp too, where others can make names but not rename what is ours.
func Holder(path string) (string, error) { return alone.resolve(path, shared) }

// AsRoot refuses a directory in which another user could put something in the place of what
// root makes there, such as a link. It refuses root alone: others lose what is theirs at
// most. That a directory is missing is for its use to tell.
func AsRoot(path string) error {
	_, err := Holder(path)
	refused, ok := errors.AsType[*Refused](err)
	switch {
	case !ok || os.Geteuid() != 0:
		return nil
	case refused.other:
		err = fmt.Errorf("%w, who could replace what root writes there", refused)
	}
	return fmt.Errorf("%w; name a directory of root's on the same disk", err)
}

// users are those who are no strangers: this one, root, and whom sudo they add.
type users struct{ sudo int }

var alone = users{-1}

// demand is what resolve refuses on the way.
type demand int

const (
	noLinks demand = iota // links of other users
	shared                // and directories that others may change, but for sticky ones
	strict                // and a last directory that others may change at all
)

// resolve returns the path of a directory without links.
func (us users) resolve(path string, wants demand) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	at := filepath.VolumeName(path) + string(filepath.Separator)
	rest := strings.Split(strings.TrimPrefix(path, at), string(filepath.Separator))
	for n := 0; ; {
		info, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		list := func() ([]byte, error) { return pathList(at) }
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			if why := us.foreign(info, list); why != "" {
				return "", &Refused{Path: at, Why: "is a symbolic link that " + why, other: true}
			}
			if n++; n > maxLinks {
				return "", &Refused{Path: at, Why: "leads through too many links"}
			}
			to, err := os.Readlink(at)
			if err != nil {
				return "", err
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			rest = append(strings.Split(strings.TrimPrefix(filepath.Clean(to), string(filepath.Separator)),
				string(filepath.Separator)), rest...)
			at = string(filepath.Separator)
			continue
		case !info.IsDir():
			return "", &Refused{Path: at, Why: "is " + kind(info.Mode()) + ", not a directory"}
		}
		for len(rest) > 0 && (rest[0] == "" || rest[0] == ".") {
			rest = rest[1:]
		}
		why := us.foreign(info, list)
		if (len(rest) > 0 || wants == shared) && why != "" && sticky(info) {
			why = ""
		}
		if why != "" && wants != noLinks {
			return "", &Refused{Path: at, Why: why, other: true}
		}
		if len(rest) == 0 {
			return at, nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:]
	}
}
