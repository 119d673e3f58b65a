package delayfs

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"hostlab/internal/thread"
	"hostlab/internal/worker"
)

const job = "delayfs"

// Jobs lists what worker processes of this package do.
func Jobs() []worker.Job {
	var s server
	return []worker.Job{{Name: job, New: s.start, End: s.end}}
}

// order is what a worker is asked for.
type order struct {
	Behind string        `json:"behind"`
	At     string        `json:"at"`
	Delay  time.Duration `json:"delay"`
}

// server is the worker's side. It unmounts when the parent has closed the session or
// is gone, also by SIGKILL: its input then ends.
type server struct {
	mu    sync.Mutex
	mount *fuse.Server
	at    string
}

func (s *server) start() worker.Func {
	debug.SetGCPercent(100) // workers have none; a server lives long
	return worker.Handle(func(o order) (struct{}, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.mount != nil {
			return struct{}{}, errors.New("serves a directory already")
		}
		m, err := serve(o)
		s.mount, s.at = m, o.At
		return struct{}{}, err
	})
}

func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mount != nil {
		detach(s.at)
	}
}

func serve(o order) (*fuse.Server, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(o.Behind, &st); err != nil {
		return nil, err
	}
	data := &fs.LoopbackRoot{Path: o.Behind, Dev: st.Dev}
	root := &node{LoopbackNode: &fs.LoopbackNode{RootData: data}, delay: o.Delay}
	data.RootNode = root
	second := time.Second
	return fs.Mount(o.At, root, &fs.Options{
		EntryTimeout: &second, AttrTimeout: &second, // nobody else changes what is behind it
		MountOptions: fuse.MountOptions{
			FsName: "hostlab-delay", Name: "hostlab-delay", DirectMount: true, MaxWrite: 1 << 20,
			// A database of ours runs as another account, whose rights the kernel checks. Others
			// than root may open their mounts to others only where fuse.conf says so.
			AllowOther: unix.Geteuid() == 0, Options: []string{"default_permissions"},
		},
	})
}

// node is a file or directory behind, with slow syncs.
type node struct {
	*fs.LoopbackNode
	delay time.Duration
}

// WrapChild implements fs.NodeWrapChilder.
func (n *node) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	if child, ok := ops.(*fs.LoopbackNode); ok {
		return &node{child, n.delay}
	}
	return ops
}

// plainFlags are those that the file behind is opened with: what arrives here is not
// aligned as O_DIRECT asks for.
func plainFlags(flags uint32) uint32 { return flags &^ unix.O_DIRECT }

// Open implements fs.NodeOpener.
func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	h, f, errno := n.LoopbackNode.Open(ctx, plainFlags(flags))
	return n.wrap(h, flags), f | cached(flags), errno
}

// Create implements fs.NodeCreater.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32,
	out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32,
	syscall.Errno) {
	i, h, f, errno := n.LoopbackNode.Create(ctx, name, plainFlags(flags), mode, out)
	return i, n.wrap(h, flags), f | cached(flags), errno
}

// Tmpfile implements fs.NodeTmpfiler: a log of ours has no name.
func (n *node) Tmpfile(ctx context.Context, flags, mode uint32,
	out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	i, h, f, errno := n.LoopbackNode.Tmpfile(ctx, plainFlags(flags), mode, out)
	return i, n.wrap(h, flags), f | cached(flags), errno
}

// cached keeps the kernel's cache out of files that were opened so.
func cached(flags uint32) uint32 {
	if flags&unix.O_DIRECT != 0 {
		return fuse.FOPEN_DIRECT_IO
	}
	return 0
}

func (n *node) wrap(h fs.FileHandle, flags uint32) fs.FileHandle {
	if f, ok := h.(*fs.LoopbackFile); ok {
		return &file{f, n.delay, flags&unix.O_DSYNC != 0} // O_SYNC has its bit
	}
	return h
}

// Fsync implements fs.NodeFsyncer, of files and of directories. A sync is done first:
// the device behind is as fast as it is.
func (n *node) Fsync(ctx context.Context, h fs.FileHandle, flags uint32) syscall.Errno {
	var errno syscall.Errno
	switch f := h.(type) {
	case *file:
		errno = f.sync(flags)
	case fs.FileFsyncdirer:
		errno = f.Fsyncdir(ctx, flags)
	default:
		return syscall.ENOTSUP
	}
	thread.Sleep(n.delay)
	return errno
}

// OpendirHandle implements fs.NodeOpendirHandler. What it hides is the handle's own
// Fsyncdir, so that Fsync is asked.
func (n *node) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	h, f, errno := n.LoopbackNode.OpendirHandle(ctx, flags)
	if d, ok := h.(dirStream); ok {
		h = &slowDir{d, d, d, d, n.delay}
	}
	return h, f, errno
}

// dirStream is what the handle of a directory behind can do.
type dirStream interface {
	fs.FileReaddirenter
	fs.FileReleasedirer
	fs.FileSeekdirer
	fs.FileFsyncdirer
}

type slowDir struct {
	fs.FileReaddirenter
	fs.FileReleasedirer
	fs.FileSeekdirer
	behind fs.FileFsyncdirer
	delay  time.Duration
}

// Fsyncdir implements fs.FileFsyncdirer.
func (d *slowDir) Fsyncdir(ctx context.Context, flags uint32) syscall.Errno {
	errno := d.behind.Fsyncdir(ctx, flags)
	thread.Sleep(d.delay)
	return errno
}

// file is an open file behind.
type file struct {
	*fs.LoopbackFile
	delay time.Duration
	syncs bool // each write is a sync
}

// PassthroughFd hides the file behind from the kernel, which would write past us.
func (f *file) PassthroughFd() (int, bool) { return 0, false }

// Write implements fs.FileWriter.
func (f *file) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	n, errno := f.LoopbackFile.Write(ctx, data, off)
	if f.syncs && errno == 0 {
		thread.Sleep(f.delay)
	}
	return n, errno
}

// dataOnly is FUSE_FSYNC_FDATASYNC of the kernel's include/uapi/linux/fuse.h.
const dataOnly = 1

func (f *file) sync(flags uint32) syscall.Errno {
	fd, ok := f.LoopbackFile.PassthroughFd()
	if !ok {
		return syscall.EBADF
	}
	if flags&dataOnly != 0 {
		return fs.ToErrno(unix.Fdatasync(fd))
	}
	return fs.ToErrno(unix.Fsync(fd))
}
