//go:build !linux

package setting

import (
	"errors"
	"os"
)

// errElsewhere says what there is in place of settings.
var errElsewhere = errors.New("settings are read and changed on Linux only; 'hostlab export powercfg' and 'hostlab export " +
	"dsc' write files that set them on Windows")

func noSettings() error { return errElsewhere }

// filesOf is a machine without settings: all of them are files of Linux.
func filesOf(*os.Root) FS { return nowhere{} }
