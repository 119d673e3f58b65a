//go:build !windows

package host

// collectOS adds the facts of systems that have neither /proc nor /sys.
func collectOS(*Facts) {}
