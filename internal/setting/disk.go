package setting

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// disk is the file system of this process.
type disk struct{}

// maxJournal bounds what is read as a journal: it is rewritten long before.
const maxJournal = 32 << 20

func (disk) ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxJournal+1))
	if err == nil && len(b) > maxJournal {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("larger than 32 MiB")}
	}
	return b, err
}

func (disk) Append(path string, b []byte) error {
	// Everybody may read it, since verify needs no rights.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// Sync makes a file's content, or the names in a directory, durable: fsync(2) says that
// a new file needs both. Some file systems cannot do it for directories, and say EINVAL.
func (disk) Sync(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if !dirsSync {
			return nil
		}
		d, err := os.Open(path)
		if err != nil {
			return err
		}
		defer d.Close()
		if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
			return err
		}
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

func (disk) Rename(from, to string) error { return os.Rename(from, to) }

func (disk) Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d disk) MkdirAll(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := d.MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.Sync(parent)
}

// Busy is the error of a journal that another hostlab has open.
type Busy struct {
	Dir string
	PID int // 0: unknown
}

func (b *Busy) Error() string {
	who := "another hostlab"
	if b.PID > 0 {
		who += ", pid " + strconv.Itoa(b.PID) + ","
	}
	return fmt.Sprintf("%s is changing settings (it has the journal in %s); wait until it is done", who, b.Dir)
}

// lockFile is never removed, so that a lock on it is one on its name.
const lockFile = "settings.lock"

// patience is how long a lock may be busy before its holder is taken for another
// hostlab: a child that a killed process had forked has it until its exec.
const patience = time.Second

func (disk) Lock(dir string) (func(), error) {
	name := filepath.Join(dir, lockFile)
	f := flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
	for began := time.Now(); ; time.Sleep(patience / 50) {
		ok, err := f.TryLock()
		if err != nil {
			return nil, fmt.Errorf("cannot lock %s: %w", name, cause{err})
		}
		if ok {
			break
		}
		if time.Since(began) > patience {
			return nil, &Busy{Dir: dir, PID: holder(name)}
		}
	}
	// For the other's message only: a full disk is no reason to stop here.
	_ = os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644)
	return func() { _ = f.Unlock() }, nil
}

// holder returns the process ID in a lock file, 0 if there is none.
func holder(name string) int {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}
