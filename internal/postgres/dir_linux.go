package postgres

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	crand "crypto/rand"

	"golang.org/x/sys/unix"
)

// prefix starts the name of every directory that this package makes, and of no
// other's. Users see it, so it says whose it is.
const prefix = "hostlab-postgres-"

// place is a directory of ours, locked as long as we live: the kernel drops a flock
// with its process, however that ends, so that the next start knows what nobody uses
// any more. Only we can enter it; what the server needs lies within and is its.
type place struct {
	path string
	lock *os.File // the directory itself
}

// newPlace makes one in parent. Between making and locking it another process may
// take it for a dead one's and remove it: then another is made.
func newPlace(parent string) (*place, error) {
	for range 100 {
		path := filepath.Join(parent, fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), strings.ToLower(crand.Text()[:8])))
		err := os.Mkdir(path, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, cannotMake(parent, err)
		}
		p := &place{path: path}
		if p.lock, err = os.Open(path); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			os.Remove(path)
			return nil, cannotMake(parent, err)
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
	return nil, cannotMake(parent, errors.New("no name was free"))
}

func cannotMake(parent string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("PostgreSQL needs a directory of its own in %s, and that cannot be made: %w; choose another with --out, or TMPDIR", parent, err)
}

// sub makes a directory of the account's within and opens it.
func (p *place) sub(name string, a account) (*os.File, error) {
	path := filepath.Join(p.path, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, cannotMake(p.path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, cannotMake(p.path, err)
	}
	if err := a.give(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// remove ends what still runs in it, and removes everything. The lock goes last.
func (p *place) remove() error {
	data := filepath.Join(p.path, dataName)
	id, known := segment(data)
	err := endInside(data)
	if known {
		id.remove()
	}
	// Twice: a process that was just ended may have made a file meanwhile.
	if rerr := os.RemoveAll(p.path); rerr != nil {
		if rerr = os.RemoveAll(p.path); rerr != nil {
			err = errors.Join(err, fmt.Errorf("cannot remove PostgreSQL's directory: %w; remove it by hand", rerr))
		}
	}
	p.lock.Close()
	return err
}

// sweep removes the places in parent whose owner is dead. A command that was killed
// has left them in a directory beside parent, where both are temporary ones.
func sweep(parent string) {
	sweepIn(parent)
	const temporary = "hostlab-"
	if !strings.HasPrefix(filepath.Base(parent), temporary) {
		return
	}
	siblings, err := filepath.Glob(filepath.Join(filepath.Dir(parent), temporary+"*"))
	if err != nil {
		return // the path has a character that patterns give a meaning
	}
	for _, dir := range siblings {
		if dir != parent && sweepIn(dir) {
			os.Remove(dir) // fails unless it is empty
		}
	}
}

func sweepIn(parent string) (found bool) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return false // newPlace says why
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && e.IsDir() {
			found = sweepOne(filepath.Join(parent, e.Name())) || found
		}
	}
	return found
}

// sweepOne touches only directories of this user: a name in /tmp may be planted.
func sweepOne(path string) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	p := &place{path: path, lock: os.NewFile(uintptr(fd), path)}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || int(st.Uid) != os.Geteuid() || unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		p.lock.Close()
		return false
	}
	return p.remove() == nil
}

// shm is the System V segment by which PostgreSQL keeps a second server from a
// cluster. It has no other use, holds some 50 bytes, and outlives a server that is
// killed.
type shm struct {
	key, id int
	owner   uint32
}

// segment reads it from postmaster.pid, whose seventh line has its key and number
// (LOCK_FILE_LINE_SHMEM_KEY in src/include/utils/pidfile.h).
func segment(data string) (s shm, ok bool) {
	// What is there is the server's account's to choose, and we may be root.
	f, err := os.OpenFile(filepath.Join(data, "postmaster.pid"), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return s, false
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return s, false
	}
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return s, false
	}
	s.owner = st.Uid
	lines := strings.Split(string(b), "\n")
	if len(lines) < 7 {
		return s, false
	}
	numbers := strings.Fields(lines[6])
	if len(numbers) != 2 {
		return s, false
	}
	var err1, err2 error
	s.key, err1 = strconv.Atoi(numbers[0])
	s.id, err2 = strconv.Atoi(numbers[1])
	return s, err1 == nil && err2 == nil
}

// remove removes the segment if it is still that one and nobody has it attached.
func (s shm) remove() {
	var d unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(s.id, unix.IPC_STAT, &d); err == nil && int(d.Perm.Key) == s.key && d.Perm.Uid == s.owner && d.Nattch == 0 {
		_, _ = unix.SysvShmCtl(s.id, unix.IPC_RMID, nil) // best effort: 50 bytes
	}
}
