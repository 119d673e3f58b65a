//go:build !linux

package setting

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// errElsewhere says what there is in place of settings.
var errElsewhere = errors.New("settings are read and changed on Linux only; 'hostlab export powercfg' and 'hostlab export dsc' write files that set them on Windows")

func noSettings() error { return errElsewhere }

// files is a machine without settings: all of them are files of Linux.
type files struct{ root string }

func absent(path string) error {
	return &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
}

func (files) ReadFile(path string) ([]byte, error)          { return nil, absent(path) }
func (files) WriteFile(path string, _ []byte) error         { return absent(path) }
func (files) Hold(path string, _ []byte) (io.Closer, error) { return nil, absent(path) }
func (files) Writable(path string) error                    { return absent(path) }
func (files) ReadDir(path string) ([]string, error)         { return nil, absent(path) }
