package store

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// Busy is the error of a record that another process holds.
type Busy struct {
	Dir string
	PID int // 0: it has not said yet, or is on another host
}

func (b *Busy) Error() string {
	who := "another hostlab"
	if b.PID > 0 {
		who += ", pid " + strconv.Itoa(b.PID) + ","
	}
	return fmt.Sprintf("%s is running in %s; wait for it, or name another directory", who, b.Dir)
}

// lock is held until its process ends, however it does. The file stays: to remove
// it would let two processes lock two files of one name.
type lock struct{ f *flock.Flock }

func takeLock(dir string) (*lock, error) {
	name := filepath.Join(dir, lockFile)
	f := flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
	ok, err := f.TryLock()
	if err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w", name, why(err))
	}
	if !ok {
		return nil, &Busy{Dir: dir, PID: holder(name)}
	}
	// For the other's message only, so a disk that is too full for it is no reason to
	// stop here, nor is Windows, which lets nobody write or read what is locked.
	_ = os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644)
	return &lock{f}, nil
}

func (l *lock) release() { _ = l.f.Unlock() }

// holder returns the process ID in a lock file, 0 if there is none.
func holder(name string) int {
	f, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}
