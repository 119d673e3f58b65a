package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"hostlab/internal/host"
)

// hostSpaces are the namespaces of the host that a process of a container lacks. That of process numbers it has to
// have.
var hostSpaces = []struct {
	name string
	kind int
}{{"cgroup", unix.CLONE_NEWCGROUP}, {"net", unix.CLONE_NEWNET}, {"ipc", unix.CLONE_NEWIPC},
	{"uts", unix.CLONE_NEWUTS}, {"mnt", unix.CLONE_NEWNS}}

// onHost goes on as a process of the host, whose /proc is at dir: it joins the namespaces of the host's first
// process, as nsenter(1) does, and starts itself anew. Where it is on the host, it does nothing.
func onHost(dir string) error {
	if same("/proc", "mnt") && same("/proc", "cgroup") && host.FirstPIDs("/proc") {
		return nil
	}
	return entering(dir)
}

// hostProc is the host's /proc, held open: whatever the name leads to later, all is read of this one.
type hostProc struct {
	named string
	fd    int
}

func openProc(dir string) (hostProc, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return hostProc{}, usagef("--proc-root %s: %w", dir, err)
	}
	return hostProc{dir, fd}, nil
}

// path is a file of it, by the descriptor.
func (p hostProc) path(name string) string {
	return filepath.Join("/proc/self/fd", strconv.Itoa(p.fd), name)
}

func (p hostProc) check() error {
	var of unix.Statfs_t
	switch err := unix.Fstatfs(p.fd, &of); {
	case err != nil:
		return usagef("--proc-root %s: %w", p.named, err)
	case of.Type != unix.PROC_SUPER_MAGIC:
		return usagef("--proc-root %s is no /proc; kubectl debug node mounts the host's at /host/proc", p.named)
	}
	if !mountedHere(p.fd) {
		return usagef(
			"--proc-root %s: it is mounted in another mount namespace than this container's; mount the host's /proc here",
			p.named)
	}
	if self, _ := os.Readlink(p.path("self")); self != strconv.Itoa(os.Getpid()) {
		return usagef("--proc-root %s: process numbers there are not those of here; start the pod with hostPID: true "+
			"(podman: --pid=host)", p.named)
	}
	if _, err := os.Readlink(p.path("1/ns/pid")); err == nil && !host.FirstPIDs(p.path("")) {
		return usagef("--proc-root %s: its process 1 is that of a container; mount the host's /proc", p.named)
	}
	return nil
}

// mountedHere reports that a descriptor is of a mount of this mount namespace. A user who leads to one of theirs, as by
// /proc/PID/root, may have mounted their own process over the first one.
func mountedHere(fd int) bool {
	b, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
	_, rest, has := strings.Cut(string(b), "mnt_id:")
	id, err2 := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]))
	mounts, err3 := procfs.GetMounts()
	return has && errors.Join(err, err2, err3) == nil &&
		slices.ContainsFunc(mounts, func(m *procfs.MountInfo) bool { return m.MountID == id })
}

func entering(dir string) error {
	p, err := openProc(dir)
	if err != nil {
		return err
	}
	defer unix.Close(p.fd)
	if err := p.check(); err != nil {
		return err
	}
	// Before anything of the host counts: what /proc/self/exe is then, its /proc says.
	program, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return usagef("--proc-root %s: this program cannot be opened: %w", dir, err)
	}
	defer unix.Close(program)
	spaces := make([]int, len(hostSpaces))
	for i, ns := range hostSpaces { // all are opened before the first is entered
		if spaces[i], err = unix.Open(p.path("1/ns/"+ns.name), unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			break
		}
		defer unix.Close(spaces[i])
	}
	runtime.LockOSThread() // the thread that starts the program anew takes its namespaces along
	if err == nil {
		err = unix.Unshare(unix.CLONE_FS)
	}
	for i, ns := range hostSpaces {
		if err == nil {
			err = unix.Setns(spaces[i], ns.kind)
		}
	}
	if err == nil {
		err = unix.Chdir("/")
	}
	if err == nil {
		err = execute(program, os.Args, os.Environ())
	}
	if errors.Is(err, fs.ErrPermission) {
		return usagef("--proc-root %s: this container may not enter the host's namespaces; start it privileged "+
			"(kubectl debug node/NAME --profile=sysadmin, podman run --privileged)", dir)
	}
	return usagef("--proc-root %s: the host's namespaces cannot be entered: %w", dir, err)
}

// execute is execveat(2) of a descriptor. unix.Exec takes a path, which the namespaces that were entered would resolve.
func execute(program int, args, env []string) error {
	argv, err1 := syscall.SlicePtrFromStrings(args)
	envv, err2 := syscall.SlicePtrFromStrings(env)
	empty, err3 := syscall.BytePtrFromString("")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	_, _, errno := unix.Syscall6(unix.SYS_EXECVEAT, uintptr(program), uintptr(unsafe.Pointer(empty)),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&envv[0])), unix.AT_EMPTY_PATH, 0)
	return errno
}

// same reports that this process shares a namespace with the first one.
func same(proc, name string) bool {
	ours, err := os.Stat(filepath.Join(proc, "self/ns", name))
	its, err2 := os.Stat(filepath.Join(proc, "1/ns", name))
	return err == nil && err2 == nil && os.SameFile(ours, its)
}
