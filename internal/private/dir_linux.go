package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	crand "crypto/rand"

	"golang.org/x/sys/unix"
)

// Place is a directory of ours, locked as long as we live: the kernel drops a flock
// with its process, however that ends, so that the next start knows what nobody uses
// any more. Only we can enter it; what the server needs lies within and is its.
type Place struct {
	Path string // absolute
	kind Kind
	lock *os.File // the directory itself
}

// NewPlace makes one in parent, named after the kind and this process: users see the
// name, so it says whose it is. Between making and locking it another process may
// take it for a dead one's and remove it: then another is made.
func (k Kind) NewPlace(parent string) (*Place, error) {
	for range 100 {
		path := filepath.Join(parent, fmt.Sprintf("%s%d-%s", k.Prefix, os.Getpid(), strings.ToLower(crand.Text()[:8])))
		err := os.Mkdir(path, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, k.CannotMake(parent, err)
		}
		p := &Place{Path: path, kind: k}
		if p.lock, err = os.Open(path); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			os.Remove(path)
			return nil, k.CannotMake(parent, err)
		}
		// Where there are no locks nobody else gets one either, and nobody removes
		// what he cannot lock.
		_ = unix.Flock(int(p.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if named, err := os.Lstat(path); err == nil {
			if open, err := p.lock.Stat(); err == nil && os.SameFile(named, open) {
				return p, nil
			}
		}
		p.lock.Close()
	}
	return nil, k.CannotMake(parent, errors.New("no name was free"))
}

// CannotMake says in one line that parent takes no directory of ours.
func (k Kind) CannotMake(parent string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s needs a directory of its own in %s, and that cannot be made: %w; choose another with TMPDIR, or for a study with --out", k.Product, parent, err)
}

// Sub makes a directory of the account's within and opens it.
func (p *Place) Sub(name string, a Account) (*os.File, error) {
	k := p.kind
	path := filepath.Join(p.Path, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, k.CannotMake(p.Path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, k.CannotMake(p.Path, err)
	}
	if err := k.give(f, a); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Remove ends what still runs in it, and removes everything. The lock goes last.
func (p *Place) Remove() error {
	data := filepath.Join(p.Path, dataName)
	var more func()
	if p.kind.Leftover != nil {
		more = p.kind.Leftover(data)
	}
	err := p.kind.EndInside(data)
	if more != nil {
		more()
	}
	// Twice: a process that was just ended may have made a file meanwhile.
	if rerr := os.RemoveAll(p.Path); rerr != nil {
		if rerr = os.RemoveAll(p.Path); rerr != nil {
			err = errors.Join(err, fmt.Errorf("cannot remove the directory of %s: %w; remove it by hand", p.kind.Product, rerr))
		}
	}
	p.lock.Close()
	return err
}

// Sweep removes the places in parent whose owner is dead. A command that was killed
// has left them in a directory beside parent, where both are temporary ones.
func (k Kind) Sweep(parent string) {
	k.sweepIn(parent)
	const temporary = "hostlab-"
	if !strings.HasPrefix(filepath.Base(parent), temporary) {
		return
	}
	siblings, err := filepath.Glob(filepath.Join(filepath.Dir(parent), temporary+"*"))
	if err != nil {
		return // the path has a character that patterns give a meaning
	}
	for _, dir := range siblings {
		if dir != parent && k.sweepIn(dir) {
			os.Remove(dir) // fails unless it is empty
		}
	}
}

func (k Kind) sweepIn(parent string) (found bool) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return false // NewPlace says why
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), k.Prefix) && e.IsDir() {
			found = k.sweepOne(filepath.Join(parent, e.Name())) || found
		}
	}
	return found
}

// sweepOne touches only directories of this user: a name in /tmp may be planted.
func (k Kind) sweepOne(path string) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	p := &Place{Path: path, kind: k, lock: os.NewFile(uintptr(fd), path)}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || int(st.Uid) != os.Geteuid() || unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		p.lock.Close()
		return false
	}
	return p.Remove() == nil
}
