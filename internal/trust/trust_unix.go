//go:build unix

package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const nonblock = syscall.O_NONBLOCK

func links(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink) //nolint:gosec,unconvert // its type differs between systems
	}
	return 1
}

// foreign says which other user owns the file or may write to it; "" for none. Its access list
// is read only where it can matter: without the group's bit to write, it lets none write.
func (us users) foreign(info fs.FileInfo, list func() ([]byte, error)) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "does not tell its owner"
	}
	mode, why := info.Mode(), us.owner(info)
	switch {
	case why != "":
		return why
	case mode&fs.ModeSymlink != 0: // a link's permissions mean nothing
		return ""
	case mode.Perm()&0o002 != 0:
		return "may be written to by everyone"
	case mode.Perm()&0o020 == 0:
		return ""
	}
	b, err := list()
	switch {
	case err != nil:
		return "has an access list that cannot be read: " + err.Error()
	case b != nil:
		return listed(b, st.Gid)
	case !ownGroup(st.Gid):
		return fmt.Sprintf("may be written to by group %d", st.Gid)
	}
	return ""
}

// caller are root and the user who called sudo(8): that user may do as root what a file of theirs says anyway.
func caller() users {
	uid, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 31)
	if err != nil {
		return alone
	}
	return users{int(uid)}
}

// owner says which other user owns the file; "" for none.
func (us users) owner(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() && st.Uid != 0 && int(st.Uid) != us.sudo {
		return "belongs to " + Account(st.Uid)
	}
	return ""
}

// OwnerOf names the user whose a file is, or else the nearest directory above it that can be looked at; "" where none
// can.
func OwnerOf(path string) string {
	at, err := filepath.Abs(path)
	for ; err == nil; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				return Account(st.Uid)
			}
			return ""
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return ""
}

// ownGroup reports that a group is this process's own, as many systems give each user one,
// or root's: that is not another user. A group that newgrp(1) has made the process's own counts as well.
// The user has chosen it, and what they lose is theirs. Root's group is 0, unless root itself has chosen another.
func ownGroup(gid uint32) bool { return gid == 0 || int(gid) == os.Getegid() }

// Account names a user as people know them.
func Account(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username + " (uid " + id + ")"
	}
	return "uid " + id
}

// sticky reports that the directory is root's or ours, and that only the owner of what it
// holds may rename that.
func sticky(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeSticky != 0 && (st.Uid == 0 || int(st.Uid) == os.Geteuid())
}

// exposed reports that others than the owner may use the file.
func exposed(info fs.FileInfo, key bool) bool {
	const root, groupReads = 0, 0o040
	mode := info.Mode().Perm()
	if st, ok := info.Sys().(*syscall.Stat_t); ok && key && st.Uid == root {
		mode &^= groupReads
	}
	return mode&0o077 != 0
}

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
