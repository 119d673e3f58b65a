//go:build unix

package store

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes names in a directory durable: fsync(2) says that a new file's
// entry needs it. Some file systems cannot, and say EINVAL.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
