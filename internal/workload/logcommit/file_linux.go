package logcommit

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"hostlab/internal/trust"
)

// create makes a new file in dir: one without a name where the file system has that, so
// that nothing is left however this process ends, and nobody else finds it.
//
// Not on btrfs, which long left inodes without links out of its log, as nobody could find
// them after a crash, so that their sync is not a commit (btrfs_log_inode_parent in
// fs/btrfs/tree-log.c of Linux 6.12).
func create(dir *os.Root, cfg Config) (f *os.File, err error) {
	flags := os.O_RDWR
	if cfg.Sync == DSync || cfg.Sync == Direct {
		flags |= unix.O_DSYNC
	}
	if cfg.named || onBtrfs(dir) {
		f, err = createNamed(dir, flags)
	} else if f, err = dir.OpenFile(".", flags|unix.O_TMPFILE, 0o600); noTmpfile(err) {
		f, err = createNamed(dir, flags)
	}
	if err == nil && cfg.Sync == Direct {
		// Not in open: where it is not supported, that fails and leaves the file.
		if err = direct(f, dir.Name()); err != nil {
			err = errors.Join(err, discard(dir, f))
		}
	}
	return f, err
}

// noTmpfile reports that the file system or the kernel knows no O_TMPFILE (open(2)).
func noTmpfile(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.ENOENT) ||
		errors.Is(err, unix.EINVAL)
}

func onBtrfs(dir *os.Root) bool {
	d, err := dir.Open(".")
	if err != nil {
		return false // create says why
	}
	defer d.Close()
	var st unix.Statfs_t
	return unix.Fstatfs(int(d.Fd()), &st) == nil && st.Type == unix.BTRFS_SUPER_MAGIC
}

// createNamed makes a file with a name and locks it. Between the two, another run may
// take it for a dead one's and remove it: then it has no links, and another is made.
func createNamed(dir *os.Root, flags int) (*os.File, error) {
	for range 100 {
		f, err := dir.OpenFile(newName(), flags|os.O_CREATE|os.O_EXCL, 0o600)
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
		return f, nil
	}
	return nil, errors.New("no name was free for the log file")
}

// direct sets O_DIRECT.
func direct(f *os.File, dir string) error {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETFL, flags|unix.O_DIRECT)
	}
	if errors.Is(err, unix.EINVAL) {
		return &DirError{Dir: dir, Err: err, Problem: "the file system there has no writes past the cache (O_DIRECT)",
			Remedy: "make blocks durable in another way, or " + elsewhere}
	}
	return wrap("fcntl", f, err)
}

// sweep removes the files in dir whose owner is dead: the kernel drops a flock
// with its process, however that ends. It touches only plain files of this user
// with a single link, so that a planted name cannot make root remove another's.
func sweep(dir *os.Root) {
	for _, name := range leftBehind(dir) {
		f, err := trust.OpenFile(dir, name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if info, err := f.Stat(); err == nil && mine(info) && unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = dir.Remove(name) // best effort: the next start tries again
		}
		f.Close()
	}
}

func mine(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// discard removes the name first, while the lock still says that it is in use.
func discard(dir *os.Root, f *os.File) error {
	var err error
	if name := filepath.Base(f.Name()); strings.HasPrefix(name, prefix) {
		if err = dir.Remove(name); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
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
