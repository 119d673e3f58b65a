package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// lock is held until its process ends, however it does.
type lock struct {
	f    *flock.Flock
	name string
}

func takeLock(dir string) (*lock, error) {
	name := filepath.Join(dir, lockFile)
	var f *flock.Flock
	for {
		f = flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
		ok, err := f.TryLock()
		if err != nil {
			return nil, fmt.Errorf("cannot lock %s: %w", name, why(err))
		}
		if !ok {
			return nil, &Busy{Dir: dir, PID: holder(name)}
		}
		// Its holder may have removed the file after we had opened it. A lock on a file
		// without a name keeps nobody out.
		ours, err := f.Stat()
		named, nameErr := os.Stat(name)
		if err == nil && nameErr == nil && os.SameFile(ours, named) {
			break
		}
		_ = f.Unlock()
		if err == nil && nameErr != nil && !errors.Is(nameErr, fs.ErrNotExist) {
			err = nameErr
		}
		if err != nil {
			return nil, fmt.Errorf("cannot lock %s: %w", name, why(err))
		}
	}
	// For the other's message only, so a disk that is too full for it is no reason to
	// stop here, nor is Windows, which lets nobody write or read what is locked.
	_ = os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644)
	return &lock{f, name}, nil
}

func (l *lock) release() { _ = l.f.Unlock() }

// remove gives the lock back and removes its file, in the order that leaves no
// moment in which another could have locked the file that we remove. Windows does
// not remove an open file; there it stays, which does no harm.
func (l *lock) remove() {
	os.Remove(l.name)
	l.release()
}

// held reports whether another has a record open for appending.
func held(dir string) bool {
	f := flock.New(filepath.Join(dir, lockFile), flock.SetFlag(os.O_RDONLY))
	ok, err := f.TryRLock() // shared, so that readers do not find one another
	_ = f.Unlock()
	return err == nil && !ok
}

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
