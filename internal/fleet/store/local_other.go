//go:build !linux

package store

// local accepts any file: this system does not say what kind of file system it is on.
func local(string) error { return nil }
