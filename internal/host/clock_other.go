//go:build !linux

package host

func clockStatus() (int, error) { return 0, errForeign }
