package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"hostlab/internal/trust"
)

// writeFile writes a file whole or not at all: beside it first, then renamed. A link of
// ours is written through, and what is not a file, such as a device or a pipe, is written to:
// renaming over it would replace it. Another user's link is refused: it may lead anywhere.
func writeFile(name string, write func(*os.File) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot write %s: %w", name, plain(err))
		}
	}()
	dir, base, err := trust.Place(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	// A report is to be shared as any new file is, and one that was there keeps its mode.
	mode := fs.FileMode(0)
	switch info, err := os.Stat(name); {
	case err == nil && !info.Mode().IsRegular():
		// It is opened by name, as /dev/stdout has to be: nobody else may choose what that is.
		if err := trust.AsRoot(filepath.Dir(name)); err != nil {
			return err
		}
		return writeInto(name, write)
	case err == nil && ours(dir, base):
		mode = info.Mode().Perm()
	case err == nil, errors.Is(err, fs.ErrNotExist):
		mode = 0o666 &^ umask()
	default:
		return err
	}
	tmp := fmt.Sprintf(".%s.%08x", base, rand.Uint32())
	f, err := dir.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = dir.Remove(tmp)
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return dir.Rename(tmp, base)
}

// ours reports a file that no other user has put there, or may write to.
func ours(dir *os.Root, name string) bool {
	f, err := trust.OpenFile(dir, name, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return trust.Ours(f) == nil
}

func writeInto(name string, write func(*os.File) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// checkWritable says early, before a minute of measuring, that a file cannot be
// written. It writes nothing itself. No name, and - for stdout, are no files.
func checkWritable(flag, name string) error {
	if name == "" || name == "-" {
		return nil
	}
	given := name
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return usagef("--%s %s is a directory; name a file in it", flag, name)
	case err == nil && !info.Mode().IsRegular():
		return nil // a device or a pipe: opening it will tell
	case err == nil:
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return usagef("--%s %s: %w", flag, given, plain(err))
		}
	case !errors.Is(err, fs.ErrNotExist):
		return usagef("--%s %s: %w", flag, name, plain(err))
	}
	if root, _, err := trust.Place(given); err == nil {
		root.Close()
	} else if r, refused := errors.AsType[*trust.Refused](err); refused {
		return usagef("--%s %s: %w; name another file", flag, given, r)
	}
	dir := filepath.Dir(name)
	if info, err = os.Stat(dir); err != nil {
		return usagef("--%s %s: %s: %w", flag, given, dir, plain(err))
	}
	if !info.IsDir() {
		return usagef("--%s %s: %s is not a directory", flag, given, dir)
	}
	if err := accessDir(dir); err != nil {
		return usagef("--%s %s: cannot write in %s: %w", flag, given, dir, err)
	}
	return nil
}

// stateDir returns where the XDG base directory specification puts state, so that
// the directory one stands in, which may well be the log directory, stays as it was.
// It need not exist yet. Service users often have no home to write in.
func stateDir() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errors.New("this user has no home directory")
		}
		dir = filepath.Join(home, ".local", "state")
	}
	there := dir
	for {
		if _, err := os.Stat(there); err == nil || there == filepath.Dir(there) {
			break
		}
		there = filepath.Dir(there)
	}
	if err := accessDir(there); err != nil {
		return "", fmt.Errorf("cannot write in %s: %w", there, err)
	}
	return filepath.Join(dir, "hostlab"), nil
}
