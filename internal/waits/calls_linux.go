package waits

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// calls are the kinds of blocking system calls, as the kernel of this architecture numbers them (syscalls(2)). A read
// or write is refined by its descriptor.
var calls = map[int64]Kind{
	unix.SYS_FSYNC: Sync, unix.SYS_FDATASYNC: Sync, unix.SYS_SYNC_FILE_RANGE: Sync, unix.SYS_SYNCFS: Sync,
	unix.SYS_SYNC: Sync, unix.SYS_MSYNC: Sync,
	unix.SYS_READ: Read, unix.SYS_PREAD64: Read, unix.SYS_READV: Read, unix.SYS_PREADV: Read, unix.SYS_PREADV2: Read,
	unix.SYS_READAHEAD: Read,
	unix.SYS_WRITE:     Write, unix.SYS_PWRITE64: Write, unix.SYS_WRITEV: Write, unix.SYS_PWRITEV: Write,
	unix.SYS_PWRITEV2:  Write,
	unix.SYS_FALLOCATE: Write, unix.SYS_FTRUNCATE: Write,
	unix.SYS_FUTEX: Lock, unix.SYS_SEMOP: Lock, unix.SYS_SEMTIMEDOP: Lock, unix.SYS_FLOCK: Lock, unix.SYS_FCNTL: Lock,
	unix.SYS_RECVFROM: Peer, unix.SYS_RECVMSG: Peer, unix.SYS_RECVMMSG: Peer, unix.SYS_SENDTO: Peer,
	unix.SYS_SENDMSG:  Peer,
	unix.SYS_SENDMMSG: Peer, unix.SYS_CONNECT: Peer, unix.SYS_SENDFILE: Peer, unix.SYS_SPLICE: Peer,
	unix.SYS_ACCEPT: Poll, unix.SYS_ACCEPT4: Poll, unix.SYS_PPOLL: Poll, unix.SYS_PSELECT6: Poll,
	unix.SYS_EPOLL_PWAIT:     Poll,
	unix.SYS_RT_SIGTIMEDWAIT: Sleep, unix.SYS_RT_SIGSUSPEND: Sleep, unix.SYS_NANOSLEEP: Sleep,
	unix.SYS_CLOCK_NANOSLEEP: Sleep,
	unix.SYS_WAIT4:           Child, unix.SYS_WAITID: Child,
	unix.SYS_IO_GETEVENTS: AsyncIO, unix.SYS_IO_URING_ENTER: AsyncIO,
	441: Poll, // epoll_pwait2, the same number everywhere (Linux 5.11)
}

// paths are calls that name a file. They wait for a device, for who serves the file system or for who watches it.
var paths = map[int64]string{unix.SYS_OPENAT: "openat", unix.SYS_OPENAT2: "openat2", unix.SYS_NEWFSTATAT: "newfstatat",
	unix.SYS_STATX: "statx", unix.SYS_EXECVE: "execve", unix.SYS_GETDENTS64: "getdents64", unix.SYS_UNLINKAT: "unlinkat",
	unix.SYS_RENAMEAT2: "renameat2", unix.SYS_MKDIRAT: "mkdirat"}

func name(call int64) string {
	return cmp.Or(paths[call], "system call "+strconv.FormatInt(call, 10))
}

// Of is the kind of wait in a system call by its number; -1: none, as where a page of memory is missing.
func Of(call int64) Kind {
	if call < 0 {
		return Page
	}
	if k, known := calls[call]; known {
		return k
	} else if paths[call] != "" {
		return Path
	}
	return Elsewise
}

// byDescriptor are calls whose first argument names what they wait for.
var byDescriptor = map[int64]bool{
	unix.SYS_FSYNC: true, unix.SYS_FDATASYNC: true, unix.SYS_SYNC_FILE_RANGE: true, unix.SYS_SYNCFS: true,
	unix.SYS_READ: true, unix.SYS_PREAD64: true, unix.SYS_READV: true, unix.SYS_PREADV: true, unix.SYS_PREADV2: true,
	unix.SYS_READAHEAD: true,
	unix.SYS_WRITE:     true, unix.SYS_PWRITE64: true, unix.SYS_WRITEV: true, unix.SYS_PWRITEV: true, unix.SYS_PWRITEV2: true,
	unix.SYS_FALLOCATE: true, unix.SYS_FTRUNCATE: true, unix.SYS_FLOCK: true, unix.SYS_FCNTL: true,
	unix.SYS_RECVFROM: true, unix.SYS_RECVMSG: true, unix.SYS_RECVMMSG: true, unix.SYS_SENDTO: true,
	unix.SYS_SENDMSG:  true,
	unix.SYS_SENDMMSG: true, unix.SYS_CONNECT: true, unix.SYS_SENDFILE: true,
}

// polls are calls whose first two arguments are descriptors in memory, and how many.
var polls = map[int64]bool{unix.SYS_PPOLL: true}

// selects are calls whose first argument is one more than the highest descriptor.
var selects = map[int64]bool{unix.SYS_PSELECT6: true}

// pushes are calls that wait for a pipe or socket to take something.
var pushes = map[int64]bool{unix.SYS_WRITE: true, unix.SYS_WRITEV: true, unix.SYS_SENDTO: true, unix.SYS_SENDMSG: true,
	unix.SYS_SENDMMSG: true, unix.SYS_SENDFILE: true}

// called is what a line of /proc/PID/syscall says (proc_pid_syscall(5)): how a thread waits, its system call and the
// arguments of that; -1: it waits in none.
func called(line []byte) (w Wait, number int64, args [][]byte) {
	if bytes.HasPrefix(line, []byte("running")) { // on a CPU, or ready for one
		return Wait{Kind: Running}, -1, nil
	}
	call, rest, _ := bytes.Cut(line, []byte(" "))
	number, err := strconv.ParseInt(string(bytes.TrimSpace(call)), 10, 64)
	if err != nil { // a form that no kernel has had so far
		return Wait{Kind: Elsewise}, -1, nil
	}
	w.Kind = Of(number)
	if _, known := calls[number]; !known && number >= 0 {
		w.On = name(number)
	}
	return w, number, bytes.Fields(rest)
}

// descriptor is that of the file on which a system call works, where its first argument names one.
func descriptor(number int64, args [][]byte) (fd int64, named bool) {
	if !byDescriptor[number] || len(args) == 0 {
		return 0, false
	}
	n, err := hexadecimal(args[0])
	return int64(n), err == nil //nolint:gosec // a descriptor
}

func hexadecimal(text []byte) (uint64, error) {
	return strconv.ParseUint(string(bytes.TrimPrefix(text, []byte("0x"))), 16, 64)
}

// on is a wait on that file: a read of what is no file waits for the other end.
func (w Wait) on(file string, number int64) Wait {
	w.On = file
	if (w.Kind == Read || w.Kind == Write) && !strings.HasPrefix(file, "/") {
		w.Kind = Peer
	}
	if w.Kind == Peer && pushes[number] {
		w.Kind = Push
	}
	return w
}

// through reports a descriptor of which each write waits for the device (O_DSYNC of open(2), which is a part of O_SYNC).
func through(pid int, fd int64) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, fd))
	_, after, _ := strings.Cut(string(text), "flags:")
	flags, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	n, err := strconv.ParseInt(flags, 8, 64)
	return err == nil && n&unix.O_DSYNC != 0
}

// files are what descriptors of a process lead to, as far as they were asked for.
type files map[int64]string

// of is what one leads to: a path, "socket:[123]", "pipe:[123]", or another kind.
func (f files) of(pid int, fd int64) string {
	if name, known := f[fd]; known {
		return name
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	switch {
	case errors.Is(err, fs.ErrPermission):
		name = ""
	case err != nil:
		name = "" // it was closed meanwhile
	case !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "socket:") && !strings.HasPrefix(name, "pipe:"):
		name, _, _ = strings.Cut(name, ":") // anon_inode:[eventfd]
	}
	name = strings.TrimSuffix(name, " (deleted)")
	if !strings.HasPrefix(name, "socket:") { // whose number the next one may get at once
		f[fd] = name
	}
	return name
}
