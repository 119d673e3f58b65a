//go:build !unix

package store

// syncDir does nothing: NTFS logs changes of names itself, and a directory cannot
// be flushed there.
func syncDir(string) error { return nil }
