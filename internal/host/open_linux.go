package host

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

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
