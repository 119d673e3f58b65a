package setting

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// System is the machine that settings are read from and written to, and the disk that
// keeps the journal. Its calls can be replaced by a test's that fail or that end the
// process at any of them.
type System struct {
	FS   FS
	Disk Disk
	Boot func() string // an ID of this boot; "" unknown
	Host func() string // an ID of this machine; "" unknown
	Now  func() time.Time
	// Missing is why this machine has no settings at all; nil: it may have some.
	Missing error
	// Planning is a plan of what root could write: a right that this user lacks keeps nothing out of it.
	Planning bool

	settings func() []Setting    // those of Windows, or a test's; nil: All
	pause    func(time.Duration) // until the kernel has done what it does after a write; nil: at once
}

// FS is the system calls that reading and changing a setting makes. Paths are the
// machine's, such as /sys/devices/system/cpu/smt/control, wherever that lies. Errors
// wrap the errno. Every call may be made again.
type FS interface {
	ReadFile(path string) ([]byte, error)
	// WriteFile writes to a file that is there, in one write(2), and never creates one:
	// sysfs takes a value from one write and fails on some flags of open(2)
	// (Documentation/filesystems/sysfs.rst). A short write is an error.
	WriteFile(path string, value []byte) error
	// Hold writes likewise and keeps the file open until it is closed.
	Hold(path string, value []byte) (io.Closer, error)
	// Writable says whether a write would be let through to the kernel's own checks,
	// without opening the file.
	Writable(path string) error
	ReadDir(path string) ([]string, error) // names, in natural order
}

// Disk is the system calls that the journal makes. Paths are this process's.
type Disk interface {
	ReadFile(path string) ([]byte, error)
	Append(path string, b []byte) error // creates the file if need be; does not sync
	// Reserve takes room for so many bytes behind the end of a file, so that a full disk
	// takes them still.
	Reserve(path string, more int) error
	Sync(path string) error // fsync(2) of a file or a directory
	Rename(from, to string) error
	Remove(path string) error   // one that is not there is no error
	MkdirAll(path string) error // with an fsync of each directory that got a new name
	// Lock keeps other processes out until release or the end of this one. The
	// error is *lockfile.Busy if there is one.
	Lock(dir string) (release func(), err error)
}

// Local is this machine. With a root, its files are those below that directory, which
// no link leaves: also what takes the directory's name later is not it.
func Local(root *os.Root) *System {
	sys := &System{FS: filesOf(root), Disk: disk{root}, Now: time.Now, pause: time.Sleep}
	sys.settings, sys.Missing = settingsOf(root)
	sys.Boot = func() string { return sys.id("/proc/sys/kernel/random/boot_id") }
	sys.Host = func() string {
		id := machineID(sys)
		if id == "" {
			return ""
		}
		// machine-id(5): it is confidential; applications are to derive an ID of their own.
		mac := hmac.New(sha256.New, []byte(id))
		mac.Write([]byte("hostlab settings"))
		return hex.EncodeToString(mac.Sum(nil)[:16])
	}
	return sys
}

// late is how long an effect of a write may come after it.
const late = 20 * time.Millisecond

func (sys *System) wait() {
	if sys.pause != nil {
		sys.pause(late)
	}
}

func (sys *System) id(path string) string {
	b, err := sys.FS.ReadFile(path)
	if err != nil {
		return ""
	}
	id := strings.TrimSpace(string(b))
	if id == "uninitialized" { // machine-id(5): an image that has not started yet
		return ""
	}
	return id
}

// Settings are those of the machine's system, in the order in which they are applied.
func (sys *System) Settings() []Setting { return slices.Clone(sys.all()) }

// all is not to be changed: it is the list itself.
func (sys *System) all() []Setting {
	if sys.settings != nil {
		return sys.settings()
	}
	return all
}

func (sys *System) find(name string) (Setting, bool) {
	list := sys.all() // of large values, which range would copy
	for i := range list {
		if list[i].Name == name {
			return list[i], true
		}
	}
	return Setting{}, false
}

// Find returns the setting of that name, of Linux or of Windows.
func Find(name string) (Setting, bool) { return everywhere.find(name) }

// everywhere is a machine that has all settings there are.
var everywhere = &System{settings: func() []Setting { return ofAll }}

var ofAll = slices.Concat(all, windowsSettings)

// MachineDir is where root's journal lies, which all may read. Tests of commands name
// another, since what is open on the machine that they run on is not theirs.
var MachineDir = machineDir()

// TrustedDir is JournalDir, where it is one that no other user could have written to. With made it is there afterwards.
func TrustedDir(made bool) (string, error) {
	dir, err := JournalDir()
	if err == nil && made {
		err = disk{}.MkdirAll(dir)
	}
	if err == nil {
		err = trusted(dir)
	}
	return dir, err
}

// JournalDir is where the journal lies: root's is the machine's, anybody else's their own.
// The error is that of a user without a home directory.
func JournalDir() (string, error) {
	if administrator() {
		return MachineDir, nil
	}
	return StateDir()
}

// StateDir is where the XDG base directory specification puts a user's state, so that the directory one stands in stays
// as it was. It need not exist yet. Service users often have no home to write in, which is the error.
func StateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hostlab"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "hostlab"), nil
}
