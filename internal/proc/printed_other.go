//go:build !linux

package proc

import "os"

func unwritten(*os.File) bool { return false } // which this system does not tell

// Shed does nothing: Windows takes pages back by itself.
func Shed() {}
