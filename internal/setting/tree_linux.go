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
