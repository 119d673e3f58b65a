package host

import (
	"path/filepath"
)

// volume is what a system without /proc and /sys tells of the file system that a
// path lies on.
type volume struct {
	Root     string // as in C:\ or \\server\share\
	FSType   string // NTFS, ReFS
	Remote   bool
	Memory   bool // a disk in memory
	ReadOnly bool
	DAX      bool
	Free     int64 // B
}

// foreignStorage is storageOf where there is no mount table to read. A volume does
// not say what its disks are.
func foreignStorage(_ Tree, asked string) Storage {
	full, err := filepath.Abs(asked)
	if err != nil {
		full = asked
	}
	v, source, err := volumeOf(full)
	if err != nil {
		return unknownStorage(asked, full, err)
	}
	return v.storage(asked, full, source)
}

func (v volume) storage(asked, full, source string) Storage {
	s := unknownStorage(asked, full, errForeign)
	s.Resolved = Known(full, "", full)
	s.MountPoint = Known(v.Root, "", source)
	s.FSType = Known(v.FSType, "", source)
	s.FreeBytes = Known(v.Free, "B", source)
	s.ReadOnly = Known(v.ReadOnly, "", source)
	s.DAX = Known(v.DAX, "", source)
	switch {
	case v.Remote:
		s.Class = Known(ClassNetwork, "", source)
	case v.Memory:
		s.Class = Known(ClassMemory, "", source)
	case v.DAX:
		s.Class = Known(ClassPmemDAX, "", source)
	default:
		s.Class = absentFact[string](source, "a volume does not say what its disks are")
	}
	return s
}
