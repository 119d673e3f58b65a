package host

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// fsDAXFlag is FS_DAX_FL of include/uapi/linux/fs.h (Linux 5.8), which x/sys does
// not have.
const fsDAXFlag = 0x02000000

// sampled bounds how many names of a directory are looked at for a regular file.
const sampled = 64

// liveAttributes asks the kernel. It opens directories only, and for reading.
func liveAttributes(path string) attributes {
	var a attributes
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		a.free, a.readOnly = Unknown[int64]("statfs "+path, err), Unknown[bool]("statfs "+path, err)
	} else {
		// Not f_bfree: the reserve of root is not for logs.
		a.free = Known(int64(st.Bavail)*st.Bsize, "B", "statfs "+path)
		a.readOnly = Known(st.Flags&unix.ST_RDONLY != 0, "", "statfs "+path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		a.isDAX, a.inherits = Unknown[bool]("stat "+path, err), Unknown[bool]("stat "+path, err)
	case info.Mode().IsRegular():
		a.isDAX, a.inherits = statxDAX(path), absentFact[bool](path, "not a directory")
	case info.IsDir():
		a.isDAX, a.inherits = ofDirectory(path)
	default:
		a.isDAX, a.inherits = absentFact[bool](path, "not a file or directory"), absentFact[bool](path, "not a directory")
	}
	return a
}

// ofDirectory reads the flag that new files inherit. Only where the kernel does
// not tell it, a file that is there already stands for new ones.
func ofDirectory(path string) (isDAX, inherits Fact[bool]) {
	const call = "ioctl FS_IOC_GETFLAGS "
	isDAX = absentFact[bool]("statx "+path, "a directory has no DAX attribute of its own")
	dir, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_NONBLOCK, 0) // what it is by now, too
	if err != nil {
		return isDAX, Unknown[bool](call+path, err)
	}
	defer dir.Close()
	flags, err := unix.IoctlGetUint32(int(dir.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		return isDAX, Known(flags&fsDAXFlag != 0, "", call+path)
	}
	inherits = Unknown[bool](call+path, err)
	names, _ := dir.Readdirnames(sampled)
	for _, n := range names {
		file := filepath.Join(path, n)
		if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
			return statxDAX(file), inherits
		}
	}
	return isDAX, inherits
}

// statxDAX reads STATX_ATTR_DAX of a regular file. Kernels before 5.8 do not
// report it, which the mask of supported attributes tells from "no".
func statxDAX(path string) Fact[bool] {
	source := "statx " + path
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, 0, &st)
	switch {
	case err != nil:
		return Unknown[bool](source, err)
	case st.Attributes_mask&unix.STATX_ATTR_DAX == 0:
		return absentFact[bool](source, "this kernel does not report DAX (before 5.8)")
	}
	return Known(st.Attributes&unix.STATX_ATTR_DAX != 0, "", source)
}

// nodeOf tells what kind of file a path is, its owner, and of a device the number MAJ:MIN.
// It opens nothing: opening a device can do things.
func nodeOf(path string) (node, error) {
	info, err := os.Stat(path)
	if err != nil {
		return node{}, err
	}
	st := info.Sys().(*syscall.Stat_t) //nolint:errcheck // as os.Stat gives it on Linux
	return node{info.Mode(), int(st.Uid), fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))}, nil
}
