// Package lockfile keeps two processes of hostlab from working in one directory. The lock
// is the kernel's, on an open file, so that it ends with its process, however that ends.
package lockfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/trust"
)

// Busy is the error of a lock that another process has.
type Busy struct {
	PID  int    // 0: it has not said yet, or is on another host
	Work string // what it does, where, and what to do: the rest of the sentence
}

func (b *Busy) Error() string {
	if b.PID > 0 {
		return fmt.Sprintf("another hostlab, pid %d, %s", b.PID, b.Work)
	}
	return "another hostlab " + b.Work
}

// Lock is held until Release, or the end of this process.
type Lock struct {
	f    *os.File
	root *os.Root
	name string
}

// patience is how long a lock may be busy before its holder is taken for another hostlab.
// A reader that asks whether it is held has it for a moment, and so has a child that a
// killed process had forked and that has not reached its exec.
const patience = time.Second

// mode lets no other user open the file: flock(2) asks for no right to write, so that one
// who may read could keep us out.
const mode = 0o600

// Take locks a file of root, which is made if need be; only a regular file without a
// second name is touched. Errors: *Busy, *trust.Refused, *fs.PathError.
func Take(root *os.Root, name, work string) (*Lock, error) {
	for began := time.Now(); ; {
		f, err := trust.OpenFile(root, name, os.O_RDWR|os.O_CREATE, mode)
		if err != nil {
			return nil, err
		}
		ok, err := Try(f, true)
		switch {
		case err != nil:
			f.Close()
			return nil, &fs.PathError{Op: "lock", Path: filepath.Join(root.Name(), name), Err: err}
		case !ok && time.Since(began) < patience:
			f.Close()
			time.Sleep(patience / 50)
			continue
		case !ok:
			defer f.Close()
			return nil, &Busy{PID: holder(f), Work: work}
		}
		// Its holder may have removed the file after we had opened it. A lock on a file
		// without a name keeps nobody out.
		if !named(root, name, f) {
			f.Close()
			continue
		}
		// For the other's message only: a full disk is no reason to stop here.
		if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err == nil {
			_ = f.Truncate(int64(len(strconv.Itoa(os.Getpid())) + 1))
		}
		return &Lock{f, root, name}, nil
	}
}

// named reports whether name still leads to the open file.
func named(root *os.Root, name string, f *os.File) bool {
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := root.Lstat(name)
	return err == nil && os.SameFile(ours, now)
}

// Release gives the lock back. It may be called again.
func (l *Lock) Release() { _ = l.f.Close() }

// Remove gives the lock back and removes its file, in the order that leaves no moment in
// which another could have locked the file that we remove. Windows does not remove an open
// file; there it stays, which does no harm.
func (l *Lock) Remove() {
	_ = l.root.Remove(l.name)
	l.Release()
}

// Held reports whether another process has the lock.
func Held(root *os.Root, name string) bool {
	_, held := Holder(root, name)
	return held
}

// Holder reports the process that has the lock, 0 where it has not said.
func Holder(root *os.Root, name string) (pid int, held bool) {
	f, err := trust.OpenFile(root, name, os.O_RDONLY, 0)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	if ok, err := Try(f, false); err != nil || ok { // shared, so that readers do not find one another
		return 0, false
	}
	return holder(f), true
}

// holder returns the process ID in a lock file, 0 if there is none.
func holder(f *os.File) int {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil && !errors.Is(err, io.EOF) {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}
