package setting

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A plain file below a root stands for an attribute of a machine. These make it behave as
// the kernel's would, so that what is tried there tells the truth.

// errnos are the marks of recordings, "!errno EBUSY", for files whose reading failed.
var errnos = map[string]unix.Errno{"EACCES": unix.EACCES, "EPERM": unix.EPERM, "ENOENT": unix.ENOENT, "ENODEV": unix.ENODEV, "ENXIO": unix.ENXIO,
	"EIO": unix.EIO, "EAGAIN": unix.EAGAIN, "EINVAL": unix.EINVAL, "EBUSY": unix.EBUSY, "EOPNOTSUPP": unix.EOPNOTSUPP}

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
// list with value in brackets. A value that is not in it is EINVAL. Other files say the value.
func chosen(text, value []byte) ([]byte, error) {
	word := strings.TrimSpace(string(value))
	list := strings.Fields(string(text))
	now := slices.IndexFunc(list, func(w string) bool { return len(w) > 2 && w[0] == '[' && w[len(w)-1] == ']' })
	if now < 0 {
		return value, nil
	}
	list[now] = list[now][1 : len(list[now])-1]
	i := slices.Index(list, word)
	if i < 0 {
		return nil, unix.EINVAL
	}
	list[i] = "[" + word + "]"
	out := strings.Join(list, " ")
	if bytes.HasSuffix(text, []byte(" \n")) { // as queue/scheduler ends
		out += " "
	}
	return []byte(out), nil
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
	whole := append(bytes.Clone(value), '\n')
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
