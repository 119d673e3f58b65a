//go:build !linux

package setting

import "os"

// reserve does nothing: settings are changed on Linux only.
func reserve(*os.File, int64, int64) error { return nil }
