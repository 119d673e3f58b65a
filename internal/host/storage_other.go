//go:build !linux

package host

import (
	"io/fs"
	"os"
	"runtime"
)

// liveAttributes has no calls to ask on other systems.
func liveAttributes(path string) attributes {
	why := "not told on " + runtime.GOOS
	return attributes{
		free: absentFact[int64](path, why), readOnly: absentFact[bool](path, why),
		isDAX: absentFact[bool](path, why), inherits: absentFact[bool](path, why),
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
