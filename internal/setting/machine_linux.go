package setting

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hostlab/internal/host"
)

// settingsOf are no others than All: what is missing here, each setting tells by itself.
func settingsOf(*os.Root) (list func() []Setting, missing error) { return nil, nil }

func machineDir() string { return "/var/lib/hostlab" }

func administrator() bool { return os.Geteuid() == 0 }

func machineID(sys *System) string {
	return cmp.Or(sys.id("/etc/machine-id"), sys.id("/var/lib/dbus/machine-id"))
}

func filesOf(root *os.Root) FS {
	if root == nil {
		return files{}
	}
	return files{host.Below(root)}
}

// files is the machine's files, or those of a tree.
type files struct{ tree host.Tree }

func (f files) open(path string, flags int) (int, error) {
	fd, err := f.tree.Open(path, flags)
	if !f.tree.Live() && errors.Is(err, unix.ENOENT) {
		if link := stray(f.tree, path); link != "" {
			err = astray{link}
		}
	}
	return fd, err
}

// stray returns the link on the way to a path that leads nowhere below the root; "" where there is none.
func stray(tree host.Tree, path string) string {
	for i := range path {
		if i == 0 || path[i] != '/' {
			continue
		}
		if at := path[:i]; strays(tree, at) {
			return at
		}
	}
	if strays(tree, path) {
		return path
	}
	return ""
}

func strays(tree host.Tree, path string) bool {
	if tree.Exists(path) {
		return false
	}
	fd, err := tree.Open(path, unix.O_PATH|unix.O_NOFOLLOW)
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
}

// again makes a call until no signal interrupts it.
func again(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// maxValue bounds what is read of one file. sysfs gives a page at most, of 4 to 64 KiB
// (sysfs_emit, Linux 5.10).
const maxValue = 64 << 10

func (f files) ReadFile(path string) ([]byte, error) {
	fd, err := f.open(path, unix.O_RDONLY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	// /dev/cpu_dma_latency gives its four bytes to every read again, and so has no end.
	device := isDevice(fd)
	buf, n := make([]byte, 4096), 0
	for {
		m, err := again(func() (int, error) { return unix.Read(fd, buf[n:]) })
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		n += m
		if m == 0 || device {
			if f.tree.Live() {
				return buf[:n], nil
			}
			if err := marked(buf[:n]); err != nil {
				return nil, &fs.PathError{Op: "read", Path: path, Err: err}
			}
			return buf[:n], nil
		}
		if n == len(buf) {
			if n >= maxValue {
				return nil, &fs.PathError{Op: "read", Path: path, Err: unix.EFBIG}
			}
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

func isDevice(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR
}

func (f files) WriteFile(path string, value []byte) error {
	fd, err := f.writing(path, value)
	if fd >= 0 {
		if e := unix.Close(fd); err == nil && e != nil {
			err = &fs.PathError{Op: "close", Path: path, Err: e}
		}
	}
	return err
}

func (f files) Hold(path string, value []byte) (io.Closer, error) {
	fd, err := f.writing(path, value)
	if err != nil {
		if fd >= 0 {
			unix.Close(fd)
		}
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// writing opens a file and writes to it; the descriptor is -1 if it did not open.
func (f files) writing(path string, value []byte) (int, error) {
	fd, err := f.open(path, unix.O_WRONLY)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	write := func() (int, error) { return unix.Write(fd, value) }
	if !f.tree.Live() {
		if value, err = f.said(path, value); err != nil {
			return fd, &fs.PathError{Op: "write", Path: path, Err: err}
		}
		write = func() (int, error) { return replace(fd, value) }
	}
	n, err := again(write)
	if err == nil && n < len(value) {
		err = io.ErrShortWrite
	}
	if err != nil {
		err = &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return fd, err
}

// said is what a recorded file is to hold for a value that is written to it.
func (f files) said(path string, value []byte) ([]byte, error) {
	text, err := f.ReadFile(path)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, e.Err
	}
	return chosen(text, value)
}

func (f files) Writable(path string) error {
	fd, err := f.open(path, unix.O_PATH)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	// Through /proc, as faccessat2 with an empty path needs Linux 5.8 and that no
	// seccomp filter of a container knows better.
	err = unix.Faccessat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.W_OK, unix.AT_EACCESS)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}

func (f files) ReadDir(path string) ([]string, error) {
	fd, err := f.open(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	host.SortNatural(names)
	return names, nil
}

// reserve takes room behind the end of a file (fallocate(2)); its size stays. A file system
// that cannot do it, such as NFS before 4.2, is no reason to set nothing.
func reserve(f *os.File, at, more int64) error {
	_, err := again(func() (int, error) {
		return 0, unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, at, more) //nolint:gosec // a descriptor is small
	})
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

func remove(dir *os.Root, name string) error { return dir.Remove(name) }

func makeDir(dir *os.Root, name string) error { return dir.Mkdir(name, 0o755) }

// trusted asks nothing here: Lock looks at the parents.
func trusted(string) error { return nil }

// A plain file below a root stands for an attribute of a machine. These make it behave as
// the kernel's would, so that what is tried there tells the truth.

// errnos are the marks of recordings, "!errno EBUSY", for files whose reading failed.
var errnos = map[string]unix.Errno{"EACCES": unix.EACCES, "EPERM": unix.EPERM, "ENOENT": unix.ENOENT,
	"ENODEV": unix.ENODEV,
	"ENXIO":  unix.ENXIO,
	"EIO":    unix.EIO, "EAGAIN": unix.EAGAIN, "EINVAL": unix.EINVAL, "EBUSY": unix.EBUSY, "EOPNOTSUPP": unix.EOPNOTSUPP}

// marked returns the error that a recorded file's content stands for.
func marked(text []byte) error {
	mark, ok := bytes.CutPrefix(text, []byte("!errno "))
	if !ok {
		return nil
	}
	if err, known := errnos[strings.TrimSpace(string(mark))]; known {
		return err
	}
	return unix.EIO
}

// chosen is what a file with a list of choices says once value is written to it: the same
// list with value in brackets. A value that is not in it is EINVAL. Other files say the value, with
// tabs between its numbers where they have them, as kernel.sem has. Its end, a newline as a rule, stays.
func chosen(text, value []byte) ([]byte, error) {
	word := strings.TrimSpace(string(value))
	list := strings.Fields(string(text))
	now := slices.IndexFunc(list, func(w string) bool { return len(w) > 2 && w[0] == '[' && w[len(w)-1] == ']' })
	end := ending(text)
	if now < 0 {
		if fields := strings.Fields(string(value)); len(list) > 1 && len(fields) == len(list) &&
			bytes.Contains(text, []byte("\t")) {
			value = []byte(strings.Join(fields, "\t"))
		}
		return append(bytes.Clone(value), end...), nil
	}
	list[now] = list[now][1 : len(list[now])-1]
	i := slices.Index(list, word)
	if i < 0 {
		return nil, unix.EINVAL
	}
	list[i] = "[" + word + "]"
	return []byte(strings.Join(list, " ") + end), nil
}

// ending is the white space at the end of a file: queue/scheduler has a blank before the newline.
func ending(text []byte) string {
	for _, end := range []string{" \n", "\n"} {
		if bytes.HasSuffix(text, []byte(end)) {
			return end
		}
	}
	if len(text) == 0 {
		return "\n"
	}
	return ""
}

// replace makes a value all that a plain file holds. An attribute takes a write as its whole
// value; a plain file would keep the end of a longer one, and cutting it first would leave a
// moment in which it is empty. So it is filled with newlines up to its length, and cut then.
func replace(fd int, value []byte) (n int, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > maxValue {
		return again(func() (int, error) { return unix.Write(fd, value) })
	}
	whole := bytes.Clone(value)
	size := len(whole)
	for int64(len(whole)) < st.Size {
		whole = append(whole, '\n')
	}
	n, err = again(func() (int, error) { return unix.Write(fd, whole) })
	if err == nil && n == len(whole) && n > size {
		_, err = again(func() (int, error) { return 0, unix.Ftruncate(fd, int64(size)) })
	}
	return min(n, len(value)), err
}
