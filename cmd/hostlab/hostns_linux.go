package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

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

func entering(dir string) error {
	var of unix.Statfs_t
	switch err := unix.Statfs(dir, &of); {
	case err != nil:
		return usagef("--proc-root %s: %w", dir, err)
	case of.Type != unix.PROC_SUPER_MAGIC:
		return usagef("--proc-root %s is no /proc; kubectl debug node mounts the host's at /host/proc", dir)
	}
	if self, _ := os.Readlink(filepath.Join(dir, "self")); self != strconv.Itoa(os.Getpid()) {
		return usagef("--proc-root %s: process numbers there are not those of here; start the pod with hostPID: true "+
			"(podman: --pid=host)", dir)
	}
	if _, err := os.Readlink(filepath.Join(dir, "1/ns/pid")); err == nil && !host.FirstPIDs(dir) {
		return usagef("--proc-root %s: its process 1 is that of a container; mount the host's /proc", dir)
	}
	runtime.LockOSThread() // the thread that starts the program anew takes its namespaces along
	err := unix.Unshare(unix.CLONE_FS)
	for _, ns := range hostSpaces {
		if err == nil {
			err = join(filepath.Join(dir, "1/ns", ns.name), ns.kind)
		}
	}
	if err == nil {
		err = unix.Chdir("/")
	}
	if err == nil { // the host's /proc is at /proc now, and its link still leads to this program
		err = unix.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	if errors.Is(err, fs.ErrPermission) {
		return usagef("--proc-root %s: this container may not enter the host's namespaces; start it privileged "+
			"(kubectl debug node/NAME --profile=sysadmin, podman run --privileged)", dir)
	}
	return usagef("--proc-root %s: the host's namespaces cannot be entered: %w", dir, err)
}

// same reports that this process shares a namespace with the first one.
func same(proc, name string) bool {
	ours, err := os.Stat(filepath.Join(proc, "self/ns", name))
	its, err2 := os.Stat(filepath.Join(proc, "1/ns", name))
	return err == nil && err2 == nil && os.SameFile(ours, its)
}

func join(file string, kind int) error {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Setns(fd, kind)
}
