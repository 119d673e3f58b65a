package delayfs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/screen"
	"hostlab/internal/workload/worker"
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
	if mayMount() {
		return ""
	}
	if _, err := fusermount(); err != nil {
		return "a slowed directory needs root, or the program fusermount3 (package fuse3)"
	}
	return ""
}

// mayMount reports CAP_SYS_ADMIN, which root of a container may not have.
func mayMount() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective>>unix.CAP_SYS_ADMIN&1 == 1
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
	if mounted(m.at) {
		detach(m.at) // it was killed
	}
	if mounted(m.at) {
		return errors.Join(err, fmt.Errorf("%s cannot be unmounted; try: umount -l %s", m.at, screen.Operand(m.at)))
	}
	return nil
}

// Sweep unmounts what servers that were killed have left anywhere: nothing there
// answers any more.
func Sweep() {
	for _, at := range mounts() {
		if _, err := os.Stat(at); errors.Is(err, unix.ENOTCONN) {
			detach(at)
		}
	}
}

// detach takes a mount out of the tree at once. What still uses it gets errors when the
// server ends.
func detach(at string) {
	if unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) == nil {
		return
	}
	if program, err := fusermount(); err == nil {
		_ = exec.Command(program, "-u", "-z", "--", at).Run() // who asks looks whether it is gone
	}
}

func mounted(at string) bool {
	for _, m := range mounts() {
		if m == at {
			return true
		}
	}
	return false
}

// mounts are where file systems of ours are mounted.
func mounts() (list []string) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for s := bufio.NewScanner(f); s.Scan(); {
		// 36 35 98:0 /root /at options [...] - type source options: proc_pid_mountinfo(5)
		before, after, ok := strings.Cut(s.Text(), " - ")
		if fields := strings.Fields(before); ok && len(fields) > 4 && strings.HasPrefix(after, Type+" ") {
			list = append(list, unescape.Replace(fields[4]))
		}
	}
	return list
}
