package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Place opens the directory in which a file is to be written, and returns it with the file's
// name there. Links of this user and of root are followed, also to a file that is still to be
// made; one of another user is refused, since it would let that user choose what we write to.
// Errors: *Refused, *fs.PathError.
func Place(path string) (*os.Root, string, error) {
	return alone.place(path, nowhere)
}

func nowhere(*os.Root, string) bool { return false }

// place is Place that follows no link at which last says so.
func (us users) place(path string, last func(dir *os.Root, base string) bool) (*os.Root, string, error) {
	if _, err := filepath.Abs(path); err != nil {
		return beside(path)
	}
	for range maxLinks {
		clean, err := us.resolve(filepath.Dir(path), noLinks)
		if err != nil {
			return nil, "", err
		}
		dir, err := straight(clean)
		if err != nil {
			return nil, "", err
		}
		base := filepath.Base(path)
		info, err := dir.Lstat(base)
		if errors.Is(err, fs.ErrNotExist) || err == nil && (info.Mode()&fs.ModeSymlink == 0 || last(dir, base)) {
			return dir, base, nil
		}
		to := ""
		if err == nil {
			if why := us.foreign(info, nil); why != "" {
				err = &Refused{Path: filepath.Join(clean, base), Why: "is a symbolic link that " + why}
			} else {
				to, err = dir.Readlink(base)
			}
		}
		dir.Close()
		if err != nil {
			return nil, "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(clean, to)
		}
		path = to
	}
	return nil, "", &Refused{Path: path, Why: "leads through too many links"}
}

// beside is Place below a current directory that was deleted, which has no name any more.
func beside(path string) (*os.Root, string, error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, "", err
	}
	base := filepath.Base(path)
	if info, err := dir.Lstat(base); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		dir.Close()
		return nil, "", &Refused{Path: path, Why: "is a symbolic link"}
	}
	return dir, base, nil
}

// Held opens a directory to work in, also by its name: root follows no link of another user,
// and the directory is in none where another user could rename it. That it is root's own is
// for Ours to tell. Errors: *Refused, *fs.PathError.
func Held(path string) (*os.Root, error) {
	if os.Geteuid() != 0 {
		return Directory(path)
	}
	clean, err := alone.resolve(path, noLinks)
	if err != nil {
		return nil, err
	}
	if _, err := alone.resolve(filepath.Dir(clean), shared); err != nil {
		return nil, err
	}
	return straight(clean)
}

// ForRoot opens a file that root is to act upon, and says in foreign who else has written it, could write it,
// or could put another in its place; nil: none, or this process is not root. The user who called sudo(8) counts as
// root. What is read from f is what was checked.
func ForRoot(path string) (f *os.File, foreign, err error) {
	if os.Geteuid() == 0 {
		f, err = own(path)
		refused, ok := errors.AsType[*Refused](err)
		if !ok {
			return f, nil, err
		}
		foreign = refused
	}
	f, err = os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	return f, foreign, err
}

// own opens a file that nobody but root and the caller of sudo has a hand in.
func own(path string) (*os.File, error) {
	us := caller()
	dir, base, err := us.place(path, nowhere)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if _, err := us.resolve(dir.Name(), shared); err != nil {
		return nil, err
	}
	f, err := OpenFile(dir, base, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	if err := us.owns(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// straight opens a directory by a path that has no links. Root follows none that have come
// into it meanwhile; others cannot, as that takes the right to read each directory on the way.
func straight(path string) (*os.Root, error) {
	if os.Geteuid() != 0 {
		return Directory(path)
	}
	return OpenDir(path)
}

// Output is where a command writes: the place of a file that is to be made or replaced, or a
// stream that is there, such as a FIFO, a terminal or this process's own standard output.
type Output struct {
	Dir  *os.Root
	Name string // in Dir

	path   string // as it was given
	stream fs.FileInfo
}

// NewOutput finds the place of an output, as Place does. It opens no stream, whose reader would
// notice, but refuses those that Open would. Errors: *Refused, *fs.PathError.
func NewOutput(path string) (*Output, error) {
	dir, base, err := alone.place(path, descriptor)
	if err != nil {
		return nil, err
	}
	o := &Output{Dir: dir, Name: base, path: path}
	if info, err := o.info(); err == nil && !info.Mode().IsRegular() {
		o.stream = info
		err = o.refuse(info)
		if err != nil {
			o.Close()
			return nil, err
		}
	}
	return o, nil
}

// Stream reports an output that is no file.
func (o *Output) Stream() bool { return o.stream != nil }

// Close closes the directory.
func (o *Output) Close() { o.Dir.Close() }

// refuse refuses a stream of another user, who would choose where it leads to. That others may write to
// it too does no harm, as to /dev/null. A descriptor of this process is what its starter has chosen.
func (o *Output) refuse(info fs.FileInfo) error {
	const written = fs.ModeNamedPipe | fs.ModeCharDevice | fs.ModeSymlink
	why := alone.owner(info)
	switch {
	case info.Mode()&fs.ModeSymlink != 0 && descriptor(o.Dir, o.Name):
		return nil
	case info.Mode()&written == 0 || info.Mode()&fs.ModeSymlink != 0:
		why = "is " + kind(info.Mode()) + ", to which no report is written"
	case why == "":
		return nil
	default:
		why = "is " + kind(info.Mode()) + " that " + why
	}
	return &Refused{Path: filepath.Join(o.Dir.Name(), o.Name), Why: why}
}
