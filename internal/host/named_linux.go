package host

import (
	"path"
	"slices"
	"strings"

	"hostlab/internal/trust"

	"golang.org/x/sys/unix"
)

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
