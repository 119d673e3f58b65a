//go:build !linux

package host

import "runtime"

// liveAttributes has no calls to ask on other systems.
func liveAttributes(path string) attributes {
	why := "not told on " + runtime.GOOS
	return attributes{
		free: absentFact[int64](path, why), readOnly: absentFact[bool](path, why),
		isDAX: absentFact[bool](path, why), inherits: absentFact[bool](path, why),
	}
}
