package host

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// fsDAX is FS_DAX_FL of include/uapi/linux/fs.h (Linux 5.8).
const fsDAX = 0x02000000

// statxLine asks the file system about a path: whether a file is in DAX mode
// (statx(2), Linux 5.8), or whether files made in a directory inherit that
// (FS_IOC_GETFLAGS; a directory itself never is), free bytes for users without a
// reserve, and whether the mount is read-only. What the file system does not say
// is left out. From a recording it repeats what was recorded.
func statxLine(t Tree, p string) (string, error) {
	if !t.Live() {
		b, err := t.Read(statxFile(p))
		return string(b), err
	}
	flag := map[bool]int{true: 1}
	var line strings.Builder
	var sx unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, p, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &sx); err != nil {
		return "", &fs.PathError{Op: "statx", Path: p, Err: err}
	}
	switch sx.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		if sx.Attributes_mask&unix.STATX_ATTR_DAX != 0 {
			fmt.Fprintf(&line, "dax=%d ", flag[sx.Attributes&unix.STATX_ATTR_DAX != 0])
		}
	case unix.S_IFDIR:
		if d, err := os.Open(p); err == nil {
			if bits, err := unix.IoctlGetUint32(int(d.Fd()), unix.FS_IOC_GETFLAGS); err == nil {
				fmt.Fprintf(&line, "inherit=%d ", flag[bits&fsDAX != 0])
			}
			_ = d.Close()
		}
	}
	var sf unix.Statfs_t
	if err := unix.Statfs(p, &sf); err != nil {
		return "", &fs.PathError{Op: "statfs", Path: p, Err: err}
	}
	fmt.Fprintf(&line, "free=%d readonly=%d", int64(sf.Bavail)*sf.Bsize, flag[sf.Flags&unix.ST_RDONLY != 0])
	return line.String(), nil
}

func errnoName(no syscall.Errno) string {
	if s := unix.ErrnoName(no); s != "" {
		return s
	}
	return "EIO"
}
