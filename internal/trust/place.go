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
	return place(path, func(*os.Root, string) bool { return false })
}

// place is Place that follows no link at which last says so.
func place(path string, last func(dir *os.Root, base string) bool) (*os.Root, string, error) {
	if _, err := filepath.Abs(path); err != nil {
		return beside(path)
	}
	for range maxLinks {
		clean, err := resolve(filepath.Dir(path), noLinks)
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
			if why := foreign(info, nil); why != "" {
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
	clean, err := resolve(path, noLinks)
	if err != nil {
		return nil, err
	}
	if _, err := resolve(filepath.Dir(clean), shared); err != nil {
		return nil, err
	}
	return straight(clean)
}

// FileAsRoot refuses root a file that another user has written, could write, or could put in
// its place, unless that is the user who called sudo(8). That it is missing is for its use to tell.
func FileAsRoot(path string) error {
	if os.Geteuid() != 0 || callersOwn(path) {
		return nil
	}
	err := func() error {
		dir, base, err := Place(path)
		if err != nil {
			return err
		}
		defer dir.Close()
		if _, err := Holder(dir.Name()); err != nil {
			return err
		}
		f, err := OpenFile(dir, base, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return Ours(f)
	}()
	if _, ok := errors.AsType[*Refused](err); ok {
		return err
	}
	return nil
}

// straight opens a directory by a path that has no links. Root follows none that have come
// into it meanwhile; others cannot, as that takes the right to read each directory on the way.
func straight(path string) (*os.Root, error) {
	if os.Geteuid() != 0 {
		return Directory(path)
	}
	return OpenDir(path)
}
