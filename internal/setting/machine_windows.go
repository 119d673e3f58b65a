package setting

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// settingsOf are Windows' own. A tree is of Linux, whose files are written there alone.
func settingsOf(root *os.Root) (list func() []Setting, missing error) {
	if root != nil {
		return nil, errors.New("the files of a Linux machine are changed on Linux alone")
	}
	return func() []Setting { return windowsSettings }, powrprofMissing()
}

func filesOf(root *os.Root) FS {
	if root != nil {
		return nowhere{}
	}
	return powerSchemes{powrprof{}}
}

// machineDir is where administrators' journal lies: in ProgramData.
func machineDir() string {
	dir, err := windows.KnownFolderPath(windows.FOLDERID_ProgramData, windows.KF_FLAG_DEFAULT)
	if err != nil {
		dir = `C:\ProgramData`
	}
	return filepath.Join(dir, "hostlab")
}

// administrator reports a process that has an administrator's rights, and not only their account.
func administrator() bool { return windows.GetCurrentProcessToken().IsElevated() }

// machineID is what Windows' setup has made up.
func machineID(*System) string {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Cryptography`,
		registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return ""
	}
	defer k.Close()
	id, _, err := k.GetStringValue("MachineGuid")
	if err != nil {
		return ""
	}
	return id
}
