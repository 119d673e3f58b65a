//go:build !linux

package host

import (
	"io/fs"
	"os"
)

// liveAttributes has no calls to ask on other systems.
func liveAttributes(path string) attributes {
	return attributes{
		free: Unknown[int64](path, errForeign), readOnly: Unknown[bool](path, errForeign),
		isDAX: Unknown[bool](path, errForeign), inherits: Unknown[bool](path, errForeign),
	}
}

// nodeOf tells what kind of file a path is.
func nodeOf(path string) (mode fs.FileMode, number string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, "", err
	}
	return info.Mode(), "", nil
}
