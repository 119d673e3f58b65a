package logcommit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"

	"hostlab/internal/host"
)

// create makes a new file that Windows itself removes with its last handle,
// however the process ends. Nobody else may open it meanwhile.
func create(dir *os.Root, cfg Config) (*os.File, error) {
	attributes := uint32(windows.FILE_ATTRIBUTE_NORMAL | windows.FILE_FLAG_DELETE_ON_CLOSE)
	switch cfg.Sync {
	case DSync:
		attributes |= windows.FILE_FLAG_WRITE_THROUGH
	case Direct:
		attributes |= windows.FILE_FLAG_WRITE_THROUGH | windows.FILE_FLAG_NO_BUFFERING
	case DataSync, Mapped:
	}
	path := filepath.Join(dir.Name(), newName())
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE|windows.DELETE, 0, nil,
		windows.CREATE_NEW, attributes, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// sweep removes what a power cut left, when not even Windows could: a file in use
// cannot be removed, as it is open without sharing.
func sweep(dir *os.Root) {
	for _, name := range leftBehind(dir) {
		_ = dir.Remove(name)
	}
}

func discard(_ *os.Root, f *os.File) error { return f.Close() }

// allocate: NTFS zeroes between the valid data length and a write beyond it, so
// that a file made longer in advance is no cheaper to append to. It grows instead.
func allocate(*os.File, int64) error { return errors.ErrUnsupported }

func writeAt(f *os.File, b []byte, off int64) error {
	_, err := f.WriteAt(b, off)
	return err
}

// datasync is FlushFileBuffers; Windows has no call that leaves metadata out.
func datasync(f *os.File) error { return f.Sync() }

type mapping struct{}

// mapFile: Windows has DAX volumes, but nothing that promises stores to be durable
// without FlushViewOfFile.
func (l *Log) mapFile() error {
	return &DirError{Dir: l.cfg.Dir, Problem: "no mapping of persistent memory (MAP_SYNC) on Windows",
		Remedy: "make blocks durable in another way"}
}

func (*mapping) store([]byte, int64) error { return errors.ErrUnsupported }

func (*mapping) unmap() error { return nil }

// system leaves the question whether dir is writable to Open: an access list
// cannot be judged without trying.
var system = kernel{stat: host.Stat, writable: func(string) error { return nil }, complete: complete}

func complete(s host.Storage, dir string) host.Storage {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return s
	}
	if _, ok := s.FreeBytes.Get(); !ok {
		var free uint64
		if windows.GetDiskFreeSpaceEx(name, &free, nil, nil) == nil {
			s.FreeBytes = host.Known(int64(min(free, 1<<62)), "B", "GetDiskFreeSpaceEx")
		}
	}
	if _, ok := s.Class.Get(); !ok {
		root, err := windows.UTF16PtrFromString(filepath.VolumeName(dir) + `\`)
		if err == nil && windows.GetDriveType(root) == windows.DRIVE_REMOTE {
			s.Class = host.Known(host.ClassNetwork, "", "GetDriveType")
		}
	}
	return s
}

// MemoryDir: Windows has no file system in memory.
func MemoryDir(string) bool { return false }
