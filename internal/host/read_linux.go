package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Reading one value must cost three system calls: a host with 512 CPUs has some
// 25,000 of them. os.ReadFile costs six (fstat, two for the poller).

// session keeps a recorded tree's root open while all of it is read, and ends
// the reading when its context does.
type session struct {
	ctx   context.Context
	fd    int      // of the root; -1 for the machine itself
	shown sync.Map // what masked has found out
}

// begin returns the tree with a session; end must be called after its last use.
func (t Tree) begin(ctx context.Context) (_ Tree, end func()) {
	s := &session{ctx: ctx, fd: -1}
	if !t.Live() {
		if fd, err := openRetry(t.Root, unix.O_PATH|unix.O_DIRECTORY); err == nil {
			s.fd = fd
		}
	}
	t.at = s
	return t, func() {
		if s.fd >= 0 {
			unix.Close(s.fd)
			s.fd = -1
		}
	}
}

// open opens a path of the machine, below a recorded root as OpenIn does.
func (t Tree) open(path string, flags int) (int, error) {
	flags |= unix.O_CLOEXEC
	if flags&unix.O_PATH == 0 { // openat2 refuses other flags beside O_PATH
		flags |= unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY
	}
	if t.at != nil && t.at.ctx.Err() != nil {
		return -1, errors.New("interrupted before it was read")
	}
	if t.Live() {
		return openRetry(path, flags)
	}
	root := -1
	if t.at != nil {
		root = t.at.fd
	}
	if root < 0 {
		fd, err := openRetry(t.Root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC)
		if err != nil {
			return -1, err
		}
		defer unix.Close(fd)
		root = fd
	}
	fd, err := OpenIn(root, path, flags)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return t.openOld(path, flags)
	}
	return fd, err
}

func openRetry(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// read lends at most the first bytes of a file to use; of a whole one, most is above maxFile.
func (t Tree) read(path string, most int, use func([]byte) error) error {
	fd, err := t.open(path, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	p := buffers.Get().(*[]byte)
	defer buffers.Put(p)
	buf := *p
	// A sysfs attribute comes whole in one read, as does a plain file; procfs
	// files may come in parts, and end only where a read gives nothing.
	parts := t.Live() && !strings.HasPrefix(path, "/sys/")
	for n := 0; ; {
		m, err := unix.Read(fd, buf[n:min(len(buf), most)])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		n += m
		if n > maxFile {
			return errTooLarge
		}
		if m == 0 || n == most || (n < len(buf) && !parts) {
			return use(buf[:n])
		}
		if n == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

// file opens a file of the machine, whose reading does not wait.
func (t Tree) file(path string) (*os.File, error) {
	fd, err := t.open(path, 0)
	if err != nil {
		return nil, err
	}
	// Go would have the poller look after what does not block.
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// lstat tells what a path is, without following it if it is a link.
func (t Tree) lstat(path string) (fs.FileMode, error) {
	info, err := os.Lstat(path)
	if !t.Live() {
		fd, e := t.open(path, unix.O_PATH|unix.O_NOFOLLOW)
		if e != nil {
			return 0, e
		}
		f := os.NewFile(uintptr(fd), path)
		defer f.Close()
		info, err = f.Stat()
	}
	if err != nil {
		return 0, bare(err)
	}
	return info.Mode(), nil
}

func (t Tree) readlink(path string) (string, error) {
	if t.Live() {
		return os.Readlink(path)
	}
	fd, err := t.open(path, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	if errors.Is(err, unix.ENOENT) {
		err = unix.EINVAL // what readlink(2) says of what is no link
	}
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

func (t Tree) list(path string) ([]string, error) {
	fd, err := t.open(path, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	p := buffers.Get().(*[]byte)
	defer buffers.Put(p)
	var names []string
	for {
		n, err := unix.ReadDirent(fd, *p)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent((*p)[:n], -1, names)
	}
}

func (t Tree) exists(path string) bool {
	fd, err := t.open(path, unix.O_PATH)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

// OpenIn opens a path of the machine whose tree lies below an open directory. Links are
// followed as in a chroot (openat2(2), Linux 5.6): /sys is full of links, and an absolute one
// would else lead to files of the machine that we run on. Only directories and regular files are
// opened, and one with a second name, which may be anywhere, only to read it: the maker of the tree
// may have planted devices, FIFOs and hard links.
func OpenIn(root int, path string, flags int) (int, error) {
	if flags&(unix.O_PATH|unix.O_DIRECTORY) != 0 { // it opens nothing, or a directory alone
		return openat2(root, path, flags)
	}
	named, err := openat2(root, path, unix.O_PATH)
	if err != nil {
		return -1, err
	}
	defer unix.Close(named)
	if err := plain(named, flags); err != nil {
		return -1, err
	}
	fd, err := openat2(root, path, flags|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return -1, err
	}
	if err := plain(fd, flags); err != nil { // it was replaced meanwhile
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// plain refuses what no tree of files needs.
func plain(fd, flags int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFDIR:
	case kind != unix.S_IFREG:
		return errors.New("it is no regular file, as all that stands for a machine is")
	case flags&(unix.O_WRONLY|unix.O_RDWR) != 0 && st.Nlink > 1:
		return fmt.Errorf("it has %d names (hard links), of which one may be elsewhere; replace it by a copy", st.Nlink)
	}
	return nil
}

func openat2(root int, path string, flags int) (int, error) {
	how := &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS} //nolint:gosec // flags are positive
	for try := 0; ; try++ {
		fd, err := unix.Openat2(root, below(path), how)
		if err == unix.EINTR || err == unix.EAGAIN && try < 100 { // EAGAIN: something was renamed meanwhile
			continue
		}
		return fd, err
	}
}

// below is a path of the machine relative to its root.
func below(p string) string {
	if rel := strings.TrimLeft(path.Clean("/"+p), "/"); rel != "" {
		return rel
	}
	return "."
}

// openOld is for kernels without openat2, and for seccomp filters that know none. It does not leave
// the tree either; where that has an absolute link, it is refused (os.Root).
func (t Tree) openOld(path string, flags int) (int, error) {
	root, err := os.OpenRoot(t.Root)
	if err != nil {
		return -1, err
	}
	defer root.Close()
	f, err := root.OpenFile(below(path), flags|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, bare(err)
	}
	defer f.Close()
	fd := int(f.Fd()) //nolint:gosec // a descriptor is small
	if flags&unix.O_PATH == 0 {
		if err := plain(fd, flags); err != nil {
			return -1, err
		}
	}
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0) //nolint:gosec // as above
}
