package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// network are file systems on which SQLite's write-ahead log loses data, as its shared memory is not shared there
// (sqlite.org/wal.html).
var network = map[int64]string{0x6969: "NFS", 0xff534d42: "CIFS", 0xfe534d42: "SMB", 0x517b: "SMB", 0x00c36400: "Ceph", 0x01021997: "9p"}

// local refuses a directory on a network file system.
func local(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return err
	}
	if name, ok := network[st.Type&0xffffffff]; ok {
		return fmt.Errorf("--store: %s is on %s, where SQLite loses data: take a local directory, or postgres://", dir, name)
	}
	return nil
}
