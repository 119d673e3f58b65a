package setting

import (
	"errors"
	"os"
	"path/filepath"
	"unsafe"

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

// reserve does nothing: Windows gives back, when a file is closed, what was reserved behind its end.
func reserve(*os.File, int64, int64) error { return nil }

// remove removes a file. Wine has no call that removes one below an open directory, and says so.
func remove(dir *os.Root, name string) error {
	err := dir.Remove(name)
	if errors.Is(err, windows.ERROR_INVALID_FUNCTION) {
		return os.Remove(filepath.Join(dir.Name(), name))
	}
	return err
}

// ours is the access list of the machine's directory: administrators and the system write, all read. They
// own it together.
const ours = "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FR;;;BU)"

// makeDir makes a directory. Anybody may make one in ProgramData, so that the machine's has an access list of its own.
func makeDir(dir *os.Root, name string) error {
	path := filepath.Join(dir.Name(), name)
	if path != MachineDir || !administrator() {
		return dir.Mkdir(name, 0o755)
	}
	sd, err := windows.SecurityDescriptorFromString(ours)
	if err != nil {
		return err
	}
	attributes := &windows.SecurityAttributes{SecurityDescriptor: sd}
	text, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	if err := windows.CreateDirectory(text, attributes); err != nil {
		return &os.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return nil
}

// trusted refuses a directory of the machine that another user has made or may write to, or that is a link to another.
func trusted(path string) error {
	if path != MachineDir || !administrator() {
		return nil
	}
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode()&(os.ModeSymlink|os.ModeIrregular) != 0 {
		return errors.New(path + " is no directory of its own, and may lead elsewhere; remove it")
	}
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return err
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return err
	}
	self, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return err
	}
	if !mayWrite(owner, self.User.Sid) {
		return errors.New(path + " belongs to " + owner.String() +
			", who is no administrator and could change the journal; remove it")
	}
	other, err := stranger(sd, self.User.Sid)
	if err == nil && other != "" {
		err = errors.New(path + " may be written to by " + other +
			" (icacls shows it), who could change the journal; remove it")
	}
	return err
}

// mayWrite: administrators and the system, which could do it anyway, and this user. Who makes something is its owner.
func mayWrite(sid, self *windows.SID) bool {
	return sid.IsWellKnown(windows.WinBuiltinAdministratorsSid) || sid.IsWellKnown(windows.WinLocalSystemSid) ||
		sid.IsWellKnown(windows.WinCreatorOwnerSid) || sid.Equals(self)
}

// stranger returns another user who may write, or "". A directory that hostlab has not made has the access list of
// ProgramData, where all users may make files.
func stranger(sd *windows.SECURITY_DESCRIPTOR, self *windows.SID) (string, error) {
	const deleteChild = 0x40 // FILE_DELETE_CHILD of winnt.h
	const writes = windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA | deleteChild | windows.DELETE | windows.WRITE_DAC |
		windows.WRITE_OWNER | windows.GENERIC_WRITE | windows.GENERIC_ALL
	acl, _, err := sd.DACL()
	if errors.Is(err, windows.ERROR_OBJECT_NOT_FOUND) || err == nil && acl == nil {
		return "everyone", nil // there is no list
	} else if err != nil {
		return "", err
	}
	for i := range uint32(acl.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(acl, i, &ace); err != nil {
			return "", err
		}
		if ace.Header.AceType == windows.ACCESS_DENIED_ACE_TYPE || ace.Mask&writes == 0 {
			continue
		}
		if sid := (*windows.SID)(unsafe.Pointer(&ace.SidStart)); ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE {
			return "an entry of an unknown kind", nil
		} else if !mayWrite(sid, self) {
			return sid.String(), nil
		}
	}
	return "", nil
}
