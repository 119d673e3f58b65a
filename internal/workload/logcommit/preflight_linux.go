package logcommit

import (
	"os"

	"golang.org/x/sys/unix"

	"hostlab/internal/host"
)

var system = kernel{stat: host.Stat, writable: writable, complete: complete}

// writable asks with the effective user, as open does; access(2) alone would ask
// with the real one.
func writable(dir string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return &os.PathError{Op: "access", Path: dir, Err: err}
	}
	return nil
}

// magic names file systems by statfs, where mountinfo did not tell: in a sandbox
// /proc may be missing (include/uapi/linux/magic.h).
var magic = map[int64]string{
	unix.NFS_SUPER_MAGIC: "nfs", unix.SMB_SUPER_MAGIC: "smbfs", unix.SMB2_SUPER_MAGIC: "smb3",
	unix.CIFS_SUPER_MAGIC: "cifs",
	unix.V9FS_MAGIC:       "9p", unix.CEPH_SUPER_MAGIC: "ceph", unix.AFS_SUPER_MAGIC: "afs", unix.CODA_SUPER_MAGIC: "coda",
	unix.PROC_SUPER_MAGIC: "proc", unix.SYSFS_MAGIC: "sysfs", unix.CGROUP_SUPER_MAGIC: "cgroup",
	unix.CGROUP2_SUPER_MAGIC: "cgroup2", unix.DEBUGFS_MAGIC: "debugfs", unix.TRACEFS_MAGIC: "tracefs",
	unix.SECURITYFS_MAGIC: "securityfs", unix.BPF_FS_MAGIC: "bpf", unix.PSTOREFS_MAGIC: "pstore",
	unix.EFIVARFS_MAGIC: "efivarfs", unix.DEVPTS_SUPER_MAGIC: "devpts", unix.HUGETLBFS_MAGIC: "hugetlbfs",
	unix.TMPFS_MAGIC: "tmpfs",
}

// complete fills in what s does not know. The kernel's word on free space and on
// read-only is fresher than a fact, but a fact that was read is not overruled:
// who recorded it may have looked from elsewhere.
func complete(s host.Storage, dir string) host.Storage {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return s
	}
	const source = "statfs"
	if _, ok := s.FSType.Get(); !ok {
		if name, ok := magic[st.Type]; ok {
			s.FSType = host.Known(name, "", source)
		}
	}
	if _, ok := s.ReadOnly.Get(); !ok {
		s.ReadOnly = host.Known(st.Flags&unix.ST_RDONLY != 0, "", source)
	}
	if _, ok := s.FreeBytes.Get(); !ok {
		s.FreeBytes = host.Known(int64(st.Bavail)*st.Bsize, "B", source)
	}
	return s
}

// MemoryDir reports whether dir is a tmpfs that this user may write to: the upper
// bound that a faster device could reach.
func MemoryDir(dir string) bool {
	var st unix.Statfs_t
	return dir != "" && unix.Statfs(dir, &st) == nil && st.Type == unix.TMPFS_MAGIC &&
		st.Flags&unix.ST_RDONLY == 0 && writable(dir) == nil
}
