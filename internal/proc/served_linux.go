package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// mountOf is the mount that holds a file; nil: it does not show.
func mountOf(pid int, file string) (on *procfs.MountInfo) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return nil
	}
	mounts, _ := p.MountInfo()
	for _, m := range mounts { // a later one covers those before it
		below := m.MountPoint == "/" || file == m.MountPoint || strings.HasPrefix(file, m.MountPoint+"/")
		if below && (on == nil || len(m.MountPoint) >= len(on.MountPoint)) {
			on = m
		}
	}
	return on
}

// FileSystem is what holds a file as a process sees it, a path: the process that serves it, and whether one does (FUSE);
// 0: it does not show which. through: it is mounted so that each write waits for its device.
func FileSystem(pid int, file string) (server int, fuse, through bool) {
	m := mountOf(pid, file)
	if m == nil {
		return 0, false, false
	}
	_, mount := m.Options["sync"]
	if _, all := m.SuperOptions["sync"]; !strings.HasPrefix(m.FSType, "fuse") || m.FSType == "fusectl" {
		return 0, false, mount || all
	}
	_, connection, _ := strings.Cut(m.MajorMinorVer, ":") // its number is that of the device (fuse_get_tree_nodev)
	any := 0
	withFile("/dev/fuse", func(pid int, info string) bool {
		if of, there := field(info, "fuse_connection"); !there { // Linux 6.8 and older
			any = pid
		} else if of == connection {
			server = pid
		}
		return server == 0
	})
	if server == 0 {
		server = any
	}
	return server, true, mount
}

// ServesFiles reports a process that serves the file system (FUSE) of a file that one of others has open: what it moves,
// they may have asked for.
func ServesFiles(server int, others []int) bool {
	serves := false
	for _, name := range descriptors(server) {
		serves = serves || name == "/dev/fuse"
	}
	if !serves {
		return false
	}
	seen := map[string]bool{}
	for _, pid := range others {
		for _, name := range descriptors(pid) {
			dir := filepath.Dir(name)
			if seen[dir] || dir == "." {
				continue
			}
			seen[dir] = true
			if of, _, _ := FileSystem(pid, name); of == server {
				return true
			}
		}
	}
	return false
}

// Guard is a process that is asked before files are opened, read or run (fanotify's permission events); 0: none shows.
func Guard() (guard int) {
	withFile("anon_inode:[fanotify]", func(pid int, info string) bool {
		for _, word := range strings.Fields(info) {
			text, is := strings.CutPrefix(word, "mask:")
			mask, err := strconv.ParseUint(text, 16, 64)
			if is && err == nil && mask&(openPerm|accessPerm|execPerm) != 0 {
				guard = pid
			}
		}
		return guard == 0
	})
	return guard
}

// Events that wait for an answer (linux/fanotify.h).
const (
	openPerm   = 0x10000
	accessPerm = 0x20000
	execPerm   = 0x40000
)

// withFile goes through processes that have a file open, as links of descriptors name it, with what the kernel tells of
// the descriptor, until one is enough.
func withFile(file string, more func(pid int, info string) bool) {
	all, _ := Numbers()
	for _, pid := range all {
		for fd, name := range descriptors(pid) {
			if name != file {
				continue
			}
			info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, fd))
			if !more(pid, string(info)) {
				return
			}
		}
	}
}

func field(info, name string) (value string, there bool) {
	for line := range strings.Lines(info) {
		if of, value, _ := strings.Cut(line, ":"); of == name {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}
