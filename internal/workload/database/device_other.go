//go:build !unix

package database

func device(string) (uint64, bool) { return 0, false }
