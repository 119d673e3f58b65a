package host

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// heldFile is a file descriptor.
type heldFile int

const notOpen heldFile = -1

// again reads the file from its start. sysfs and procfs make their content anew
// for a reading from there (kernfs_fop_read_iter and seq_read_iter, Linux 6.12).
func (f *Held) again(buf *[]byte) ([]byte, error) {
	for try := 0; ; try++ {
		if f.file == notOpen {
			fd, err := f.tree.open(f.path, 0)
			if err != nil {
				return nil, err
			}
			f.file = heldFile(fd)
		}
		b, err := f.whole(buf)
		if err == nil || try > 0 {
			return b, err
		}
		f.shut()
	}
}

func (f *Held) whole(buf *[]byte) ([]byte, error) {
	if len(*buf) == 0 {
		*buf = make([]byte, 4096)
	}
	for n := 0; ; {
		m, err := unix.Pread(int(f.file), (*buf)[n:], int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		n += m
		// What does not fill the buffer is whole where a file is one value, and /proc/stat
		// comes in one piece too (single_open_size); an end is read only behind a full one.
		if n < len(*buf) {
			return (*buf)[:n], nil
		}
		if n > maxFile {
			return nil, fmt.Errorf("larger than %d MiB", maxFile>>20)
		}
		*buf = append(*buf, make([]byte, len(*buf))...)
	}
}

func (f *Held) shut() {
	if f.file != notOpen {
		unix.Close(int(f.file))
		f.file = notOpen
	}
}
