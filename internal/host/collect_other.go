//go:build !windows

package host

// collectOS adds the facts of systems that have neither /proc nor /sys.
func collectOS(*Facts) {}

// volumeOf is asked on systems that are neither Linux nor Windows.
func volumeOf(string) (volume, string, error) { return volume{}, "", errForeign }
