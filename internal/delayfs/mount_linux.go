package delayfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/screen"
	"hostlab/internal/worker"
)

// Lacking says why nothing can be mounted here, or "".
func Lacking() string {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "a slowed directory needs FUSE, and there is no /dev/fuse (the kernel's module fuse, or the container's device)"
	case err != nil:
		return "a slowed directory needs FUSE, and this user may not open /dev/fuse"
	}
	_ = f.Close()
	if proc.Capable(unix.CAP_SYS_ADMIN) {
		return ""
	}
	if _, err := fusermount(); err != nil {
		return "a slowed directory needs root, or the program fusermount3 (package fuse3)"
	}
	return ""
}

func fusermount() (string, error) {
	if path, err := exec.LookPath("fusermount3"); err == nil {
		return path, nil
	}
	return exec.LookPath("fusermount")
}

// Mount is one file system.
type Mount struct {
	session *worker.Session
	at      string
}

// New mounts the directory behind at another; both exist, with absolute names. It is
// there until Close, or until this process ends, however it does.
func New(ctx context.Context, behind, at string, delay time.Duration) (*Mount, error) {
	Sweep()
	if why := Lacking(); why != "" {
		return nil, errors.New(why)
	}
	// The server must outlive whatever ctx is for: without it, who waits for it waits for
	// ever.
	s, err := worker.Start(context.WithoutCancel(ctx), job, 4)
	if err != nil {
		return nil, err
	}
	m := &Mount{s, at}
	if err := s.Call(order{behind, at, delay}, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("%s cannot be mounted: %w", at, err), m.Close())
	}
	return m, nil
}

// Close unmounts it, also where files of it are open still. It may be called again.
func (m *Mount) Close() error {
	err := m.session.Close() // the server unmounts before it ends
	detach(m.at)             // where it was killed
	if mounted(m.at) {
		return errors.Join(err, fmt.Errorf("%s cannot be unmounted; try: umount -l %s", m.at, screen.Operand(m.at)))
	}
	return nil
}

// Sweep unmounts what servers of this user that were killed have left anywhere: nothing
// there answers any more.
func Sweep() {
	for _, m := range mounts() {
		m.detach(true)
	}
}

// detach takes our mounts at a place out of the tree at once. What still uses them gets
// errors when the server ends.
func detach(at string) {
	for _, m := range mounts() {
		if m.at == at {
			m.detach(false)
		}
	}
}

func mounted(at string) bool {
	return slices.ContainsFunc(mounts(), func(m mount) bool { return m.at == at })
}

// mount is a line of proc_pid_mountinfo(5): a file system of ours that this user mounted.
type mount struct {
	id int
	at string
}

// detach unmounts this mount and no other, whatever its path leads to by now: another user
// may have replaced a directory on the way. dead leaves one alone that answers.
func (m mount) detach(dead bool) {
	fd, err := unix.Open(m.at, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if mountOf(fd) != m.id {
		return
	}
	var st unix.Stat_t
	if dead && !errors.Is(unix.Fstat(fd, &st), unix.ENOTCONN) {
		return
	}
	// What is held is followed, and nothing else.
	if unix.Unmount(fmt.Sprintf("/proc/self/fd/%d", fd), unix.MNT_DETACH) == nil || unix.Geteuid() == 0 {
		return
	}
	// It has the rights of this user only, and takes only mounts of this user.
	if program, err := fusermount(); err == nil {
		_ = exec.Command(program, "-u", "-z", "--", m.at).Run() // who asks looks whether it is gone
	}
}

// mountOf is the number of the mount that an open file lies in. statx(2) would ask the
// file's server, which may be dead.
func mountOf(fd int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return -1
	}
	_, rest, _ := strings.Cut(string(b), "\nmnt_id:")
	line, _, _ := strings.Cut(rest, "\n")
	id, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return -1
	}
	return id
}

// mounts are the file systems of ours that this user has mounted. Others may give theirs
// the same type.
func mounts() (list []mount) {
	for id, at := range host.UserMounts(host.Tree{}, Type, unix.Geteuid()) {
		list = append(list, mount{id, at})
	}
	return list
}
