package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"hostlab/internal/setting"
	"hostlab/internal/trust"
)

// openNamed opens a file to read that the user names. Only a regular one is read: a FIFO may be waited for without
// end, and to open a device can do something. What stands for a descriptor of our own, as /dev/stdin does, is read as
// it is.
func openNamed(name string) (*os.File, error) {
	if n, is := descriptor(name); is {
		return os.NewFile(n, name), nil
	}
	return trust.Open(name)
}

// descriptor is that of our own which a name stands for, as a shell writes them for <(command).
func descriptor(name string) (fd uintptr, is bool) {
	if name == "/dev/stdin" {
		return 0, true
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err != nil || dir != fmt.Sprintf("/proc/%d/fd", os.Getpid()) {
		return 0, false
	}
	n, err := strconv.ParseUint(filepath.Base(name), 10, 31)
	return uintptr(n), err == nil
}

// writeFile writes a file whole or not at all: beside it first, then renamed. A link of
// ours is written through, and what is not a file, such as a device or a pipe, is written to:
// renaming over it would replace it. Another user's link is refused: it may lead anywhere.
func writeFile(name string, write func(*os.File) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot write %s: %w", name, plain(err))
		}
	}()
	to, err := trust.NewOutput(name)
	if err != nil {
		return err
	}
	defer to.Close()
	if to.Stream() {
		f, err := to.Open()
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	// A report is to be shared as any new file is, and one that was there keeps its mode.
	dir, base, mode := to.Dir, to.Name, 0o666&^umask()
	if was, err := ours(dir, base); err == nil {
		mode = was.Mode().Perm()
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

// ours is a file that no other user has put there, or may write to.
func ours(dir *os.Root, name string) (fs.FileInfo, error) {
	f, err := trust.OpenFile(dir, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := trust.Ours(f); err != nil {
		return nil, err
	}
	return f.Stat()
}

// checkWritable says early, before a minute of measuring, that a file cannot be
// written. It writes nothing itself. No name, and - for stdout, are no files.
func checkWritable(flag, name string) error {
	if name == "" || name == "-" {
		return nil
	}
	given := name
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return usagef("--%s %s is a directory; name a file in it", flag, name)
	}
	to, placed := trust.NewOutput(name)
	if r, refused := errors.AsType[*trust.Refused](placed); refused {
		return usagef("--%s %s: %w; name another file", flag, given, r)
	}
	if placed == nil {
		defer to.Close()
		if to.Stream() {
			return nil // opening it tells more, and is seen by its reader
		}
	}
	switch {
	case err == nil:
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return usagef("--%s %s: %w", flag, given, plain(err))
		}
	case !errors.Is(err, fs.ErrNotExist):
		return usagef("--%s %s: %w", flag, name, plain(err))
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

// stateDir is setting.StateDir, where this user can make it.
func stateDir() (string, error) {
	dir, err := setting.StateDir()
	if err != nil {
		return "", errors.New("this user has no home directory")
	}
	return dir, accessBelow(filepath.Dir(dir))
}

// accessBelow reports why nothing can be made at or below a directory that need not be there yet.
func accessBelow(dir string) error {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	if err := accessDir(dir); err != nil {
		return fmt.Errorf("cannot write in %s: %w", dir, err)
	}
	return nil
}
