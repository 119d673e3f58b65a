package logcommit

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// create makes a new file in dir and locks it. Between the two, another run may
// take it for a dead one's and remove it: then it has no links, and another is made.
func create(dir string, sync Sync) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE | os.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if sync == DSync || sync == Direct {
		flags |= unix.O_DSYNC
	}
	for range 100 {
		path := filepath.Join(dir, newName())
		f, err := os.OpenFile(path, flags, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// Without a lock (a file system that has none) nobody else can get one
		// either, and nobody removes what he cannot lock.
		_ = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err == nil && st.Nlink == 0 {
			f.Close()
			continue
		}
		if sync == Direct {
			// Not in open: where it is not supported, that fails and leaves the file.
			if err := direct(f); err != nil {
				return nil, errors.Join(err, discard(f, path))
			}
		}
		return f, nil
	}
	return nil, errors.New("no name was free for the log file")
}

// direct sets O_DIRECT.
func direct(f *os.File) error {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETFL, flags|unix.O_DIRECT)
	}
	if errors.Is(err, unix.EINVAL) {
		return &DirError{Dir: filepath.Dir(f.Name()), Err: err, Problem: "the file system there has no writes past the cache (O_DIRECT)",
			Remedy: "make blocks durable in another way, or " + elsewhere}
	}
	return wrap("fcntl", f, err)
}

// sweep removes the files in dir whose owner is dead: the kernel drops a flock
// with its process, however that ends. It touches only plain files of this user
// with a single link, so that a planted name cannot make root remove another's.
func sweep(dir string) {
	for _, path := range leftBehind(dir) {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var open, named unix.Stat_t
		if unix.Fstat(fd, &open) == nil && unix.Lstat(path, &named) == nil &&
			open.Dev == named.Dev && open.Ino == named.Ino && open.Nlink == 1 &&
			open.Mode&unix.S_IFMT == unix.S_IFREG && int(open.Uid) == os.Geteuid() &&
			unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = unix.Unlink(path) // best effort: the next start tries again
		}
		_ = unix.Close(fd)
	}
}

// discard removes the name first, while the lock still says that it is in use.
func discard(f *os.File, path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// allocate reserves n bytes and sets the size, as fio's native fallocate does.
func allocate(f *os.File, n int64) error {
	for {
		if err := unix.Fallocate(int(f.Fd()), 0, 0, n); err != unix.EINTR {
			return wrap("fallocate", f, err)
		}
	}
}

func writeAt(f *os.File, b []byte, off int64) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(int(f.Fd()), b, off)
		if err == unix.EINTR {
			continue
		}
		if err == nil && n == 0 {
			return wrap("write", f, io.ErrShortWrite)
		}
		if err != nil {
			return wrap("write", f, err)
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}

// datasync does not repeat after an error: since Linux 4.13 a failed sync has
// dropped the dirty pages, and a second one would report success for lost data.
func datasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return wrap("fdatasync", f, err)
		}
	}
}

func wrap(op string, f *os.File, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.Name(), Err: err}
}
