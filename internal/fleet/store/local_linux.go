package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// network are file systems that several hosts share. SQLite's write-ahead log loses data there, as its shared memory is
// not shared between hosts (sqlite.org/wal.html).
var network = map[int64]string{unix.NFS_SUPER_MAGIC: "NFS", unix.CIFS_SUPER_MAGIC: "CIFS", unix.SMB2_SUPER_MAGIC: "SMB",
	unix.SMB_SUPER_MAGIC:  "SMB",
	unix.CEPH_SUPER_MAGIC: "Ceph", unix.V9FS_MAGIC: "9p", unix.AFS_FS_MAGIC: "AFS", unix.AFS_SUPER_MAGIC: "AFS",
	unix.CODA_SUPER_MAGIC: "Coda", unix.OCFS2_SUPER_MAGIC: "OCFS2", lustre: "Lustre", gfs2: "GFS2", gpfs: "GPFS"}

// Types that package unix does not name.
const (
	lustre = 0x0bd00bd0
	gfs2   = 0x01161970
	gpfs   = 0x47504653
)

// local refuses a file on a network file system, which need not be there yet. Of a link its end counts: SQLite writes
// its log beside that.
func local(path string) error {
	if end, err := filepath.EvalSymlinks(path); err == nil {
		path = end
	}
	dir := filepath.Dir(path)
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); errors.Is(err, fs.ErrNotExist) {
		return nil // opening says so
	} else if err != nil {
		return fmt.Errorf("--store: %s: %w", dir, err)
	}
	if name, ok := network[int64(uint32(st.Type))]; ok { //nolint:gosec // the kernel's numbers have 32 bits, and the sign differs between CPUs
		return fmt.Errorf("--store: %s is on %s, where SQLite loses data: take a local directory, or postgres://", dir, name)
	}
	return nil
}
