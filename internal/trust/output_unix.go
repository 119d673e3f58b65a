//go:build unix

package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// selfFds is where the kernel shows a process the descriptors that it has, as links (proc_pid_fd(5)).
const selfFds = "/proc/self/fd"

// descriptor reports the name of a descriptor of this process. What is behind it may have no
// name, as a pipe, or one that is another user's by now: it is used as it is.
func descriptor(dir *os.Root, base string) bool {
	if _, err := strconv.ParseUint(base, 10, 31); err != nil {
		return false
	}
	here, err := dir.Stat(".")
	if err != nil {
		return false
	}
	self, err := os.Stat(selfFds)
	return err == nil && os.SameFile(here, self)
}

func (o *Output) info() (fs.FileInfo, error) { return o.Dir.Lstat(o.Name) }

// unread is how long a FIFO waits for its reader, which may be starting as well.
const unread = 2 * time.Second

// Open opens a stream for writing.
func (o *Output) Open() (*os.File, error) {
	if o.stream.Mode()&fs.ModeSymlink != 0 {
		fd, err := strconv.Atoi(o.Name)
		if err == nil {
			fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) //nolint:gosec // descriptor has checked it
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: o.path, Err: err}
		}
		return os.NewFile(uintptr(fd), o.path), nil //nolint:gosec // a descriptor is small
	}
	path := filepath.Join(o.Dir.Name(), o.Name)
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		f, err := o.Dir.OpenFile(o.Name, os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if errors.Is(err, syscall.ENXIO) && o.stream.Mode()&fs.ModeNamedPipe != 0 {
			if time.Since(began) < unread {
				continue
			}
			return nil, &Refused{Path: path, Why: "is a FIFO that no program reads; start its reader first"}
		}
		if err != nil {
			return nil, err
		}
		open, err := f.Stat()
		if err == nil && !os.SameFile(open, o.stream) {
			err = &Refused{Path: path, Why: "was replaced while it was opened"}
		}
		if err == nil {
			err = o.refuse(open)
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		return f, nil
	}
}
