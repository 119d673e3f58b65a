//go:build !windows

package host

// volumeOf is asked on systems that are neither Linux nor Windows.
func volumeOf(string) (volume, string, error) { return volume{}, "", errForeign }
