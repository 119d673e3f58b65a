// Package delayfs is a file system that shows another directory and makes each sync of
// it take longer by a chosen time: fsync, fdatasync, and writes to files that were
// opened with O_DSYNC or O_SYNC. It stands for a log device behind a network, such as a
// SAN, on a host that has none. What is measured on it is emulated, never measured.
//
// It is FUSE, served by a process of ours, and every access passes through that: also
// without a delay a sync takes some 50 us longer than in the directory behind it. It is
// no access control. RWF_DSYNC of pwritev2(2) and sync_file_range(2) are not delayed:
// the kernel tells a FUSE server of neither.
package delayfs

// Type is its name in mount tables.
const Type = "fuse.hostlab-delay"
