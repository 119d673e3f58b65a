package setting

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

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
