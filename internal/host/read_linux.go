package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"hostlab/internal/trust"
)

// Reading one value must cost three system calls: a host with 512 CPUs has some
// 25,000 of them. os.ReadFile costs six (fstat, two for the poller).

// session keeps a recorded tree's root open while all of it is read, and ends
// the reading when its context does.
type session struct {
	ctx    context.Context
	root   *os.Root // nil: of the machine itself
	once   sync.Once
	dir    *os.File // the root again, for openat2; nil: it cannot be opened
	hidden sync.Map // what hides has found out
}

// close closes what the session holds open.
func (s *session) close() {
	if s.root != nil {
		s.root.Close()
	}
	s.dir.Close() // of nil it does nothing
}

// begin returns the tree with a session; end must be called after its last use.
func (t Tree) begin(ctx context.Context) (_ Tree, end func()) {
	s := &session{ctx: ctx}
	if !t.Live() {
		s.root, _ = os.OpenRoot(t.Root) // what is not there says so at the first reading
	}
	t.at = s
	return t, s.close
}

// Below is the machine that an open directory holds: nothing that takes its name later is read.
func Below(root *os.Root) Tree {
	return Tree{Root: root.Name(), at: &session{ctx: context.Background(), root: root}}
}

// below calls do with the session of a recorded tree, and with a path of the machine relative to its root. An
// absolute link means one below the root, which os.Root would refuse: such a path is resolved first.
func (t Tree) below(p string, do func(s *session, rel string) error) error {
	if t.at == nil || t.at.root == nil {
		root, err := os.OpenRoot(t.Root)
		if err != nil {
			return trust.Bare(err)
		}
		t.at = &session{ctx: context.Background(), root: root}
		defer t.at.close()
	}
	err := do(t.at, relative(p))
	if leaves(err) {
		real, unresolved := view{t: t.quiet()}.resolve(p)
		if unresolved == nil && real != p {
			err = do(t.at, relative(real))
		}
	}
	return trust.Bare(err)
}

// relative is a path of the machine relative to its root.
func relative(p string) string {
	return cmp.Or(strings.TrimLeft(path.Clean("/"+p), "/"), ".")
}

// Open opens a path of the machine. Below a root it opens only directories and regular files, and
// one with a second name, which may be anywhere, only to read it: the maker of the tree may have
// planted devices, FIFOs and hard links. It does not wait for the writer of a FIFO.
func (t Tree) Open(path string, flags int) (fd int, err error) {
	flags |= unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY
	if t.at != nil && t.at.ctx.Err() != nil {
		return -1, errors.New("interrupted before it was read")
	}
	others := t.process != "" && !t.owns(path)
	if others {
		if path, err = t.named(path); err != nil {
			return -1, err
		}
	}
	if t.Live() {
		if flags&unix.O_PATH != 0 || !others && ofKernel(path) {
			return openRetry(path, flags)
		}
		return openPlain(path, flags, others)
	}
	if flags&(unix.O_PATH|unix.O_NOFOLLOW) == unix.O_PATH { // os.Root would open a link itself
		if path, err = (view{t: t.quiet()}).resolve(path); err != nil {
			return -1, trust.Bare(err)
		}
	}
	err = t.below(path, func(s *session, rel string) error {
		fd, err = s.open(rel, flags)
		return err
	})
	return fd, err
}

// ofKernel reports a path that the kernel names: no user chooses what lies there.
func ofKernel(name string) bool {
	name = path.Clean(name)
	if strings.HasPrefix(name, "/sys/") || strings.HasPrefix(name, "/dev/") {
		return true
	}
	c := components(name)
	return len(c) > 0 && c[0] == "proc" && (len(c) < 4 || c[2] != "root" && c[2] != "cwd" && c[2] != "fd")
}

// openPlain opens a directory or a regular file. A server's account may name any path as its configuration, and to
// open a device does something to it, as to a watchdog; so it is looked at before. What others name is not the
// kernel's.
func openPlain(path string, flags int, others bool) (int, error) {
	if others { // its links have been followed
		flags |= unix.O_NOFOLLOW
	}
	at, err := openRetry(path, unix.O_PATH|flags&unix.O_NOFOLLOW)
	if err != nil {
		return -1, err
	}
	if others {
		if err := ofFiles(at); err != nil {
			unix.Close(at)
			return -1, err
		}
	}
	return again(at, flags)
}

// again opens what a descriptor of O_PATH stands for, if that is a directory or a regular file. To write, a file may
// have no second name, which may be anywhere. It closes the descriptor, unless that is all that was asked for.
func again(at, flags int) (int, error) {
	if flags&unix.O_PATH != 0 { // it opens nothing
		return at, nil
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return -1, err
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFDIR:
	case kind != unix.S_IFREG:
		return -1, errors.New("it is no regular file; replace it by one")
	case flags&(unix.O_WRONLY|unix.O_RDWR) != 0 && st.Nlink > 1:
		return -1, fmt.Errorf("it has %d names (hard links), of which one may be elsewhere; replace it by a copy", st.Nlink)
	}
	return openRetry("/proc/self/fd/"+strconv.Itoa(at), flags&^unix.O_NOFOLLOW)
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
	fd, err := t.Open(path, 0)
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
	fd, err := t.Open(path, 0)
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
	var info fs.FileInfo
	var err error
	if t.Live() {
		info, err = os.Lstat(path)
	} else {
		err = t.below(path, func(s *session, rel string) (err error) { info, err = s.root.Lstat(rel); return err })
	}
	if err != nil {
		return 0, trust.Bare(err)
	}
	return info.Mode(), nil
}

func (t Tree) readlink(path string) (target string, err error) {
	if t.Live() {
		return os.Readlink(path)
	}
	err = t.below(path, func(s *session, rel string) (err error) { target, err = s.root.Readlink(rel); return err })
	return target, err
}

func (t Tree) list(path string) ([]string, error) {
	fd, err := t.Open(path, unix.O_DIRECTORY)
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
	if t.Live() {
		_, err := os.Stat(path)
		return err == nil
	}
	return t.below(path, func(s *session, rel string) error { _, err := s.root.Stat(rel); return err }) == nil
}

// open opens a path below the root. The kernel looks a path up in one call (openat2, Linux 5.6); os.Root takes two for
// each of its folders, which on a host with 512 CPUs are most of the time.
func (s *session) open(rel string, flags int) (int, error) {
	s.once.Do(func() { s.dir, _ = s.root.Open(".") })
	if s.dir != nil {
		at, err := unix.Openat2(int(s.dir.Fd()), rel, &unix.OpenHow{
			Flags:   uint64(unix.O_PATH | unix.O_CLOEXEC | flags&(unix.O_NOFOLLOW|unix.O_DIRECTORY)),
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
		})
		if err == nil {
			return again(at, flags)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			return -1, err
		}
	}
	// It leaves the root, which has words of its own, or the kernel or a sandbox knows no openat2.
	look := unix.O_PATH | flags&(unix.O_NOFOLLOW|unix.O_DIRECTORY)
	f, err := s.root.OpenFile(rel, look, 0)
	if err != nil {
		return -1, trust.Bare(err)
	}
	defer f.Close()
	at, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	return again(at, flags)
}

// named follows a path that a process, or a file of its account, names: as that process sees it, and to nothing of the
// kernel's, also by links and "..". What is opened there is looked at once more. /dev/shm is for files
// (shm_overview(7)).
func (t Tree) named(p string) (string, error) {
	v, in := viewOf(t.quiet(), p)
	real, err := v.resolve(in)
	switch {
	case err != nil:
		return "", trust.Bare(err)
	case slices.Contains([]string{"dev", "proc", "sys"}, strings.SplitN(real+"/", "/", 3)[1]) && !within(real, "/dev/shm"):
		return "", errNamed
	}
	return path.Clean(v.root + real), nil
}

// kernelFiles are file systems whose files are no data: to read one may act, or wait (linux/magic.h). They may be
// mounted anywhere, as in a container.
var kernelFiles = []int64{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC,
	unix.SECURITYFS_MAGIC,
	unix.SELINUX_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.EFIVARFS_MAGIC,
	// of fs/configfs/mount.c and ipc/mqueue.c
	unix.BINFMTFS_MAGIC, unix.PSTOREFS_MAGIC, unix.RDTGROUP_SUPER_MAGIC, unix.NSFS_MAGIC, 0x62656570, 0x19800202,
}

// ofFiles refuses what an open descriptor stands for, if it is the kernel's.
func ofFiles(fd int) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return err
	}
	if slices.Contains(kernelFiles, int64(st.Type)) { //nolint:unconvert // its type differs between processors
		return errNamed
	}
	return nil
}

// owns reports a file in which the kernel tells of the process for which the tree is read.
func (t Tree) owns(p string) bool {
	rest, below := strings.CutPrefix(p, t.process)
	return below && !strings.Contains(rest, "/") || p == selfMounts
}

// clockStatus asks for the clock's status, and changes nothing: that takes modes.
func clockStatus() (int, error) {
	var now unix.Timex
	_, err := unix.Adjtimex(&now)
	return int(now.Status), err
}
