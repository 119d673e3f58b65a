package privatedb

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
	"hostlab/internal/trust"
)

// endInside kills the processes whose working directory is that one, until there are
// none: that is what a server and all its children have in common, as those of
// PostgreSQL make a session each (setsid in InitPostmasterChild). The directory is open and
// was made by us, so that its owner is the account that the server runs as: processes of
// others are left alone.
func (v *Vendor) endInside(dir *os.File) error {
	want, err := dir.Stat()
	if err != nil {
		return err
	}
	st, ok := want.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	inside := func() []*proc.Held {
		return proc.Find(proc.All(), func(h *proc.Held) bool {
			return h.Inside(want) && h.RunsAs(int(st.Uid), os.Geteuid())
		})
	}
	if left := proc.End(inside, proc.Step{Signal: unix.SIGKILL, Grace: 5 * time.Second}); len(left) > 0 {
		return fmt.Errorf("process %d of %s does not end; its directory %s is being removed anyway", left[0].PID, v.Product,
			filepath.Dir(dir.Name()))
	}
	return nil
}

// Account is who a server runs as. Servers of ours never run as root.
type Account struct {
	Name     string
	UID, GID int
	Other    bool // not ourselves
}

// Account decides who the server runs as: ourselves, or where we are root the first of
// Accounts that there is.
func (v *Vendor) Account() (Account, error) {
	return v.chooseAccount(os.Geteuid(), os.Getegid(), user.Lookup)
}

func (v *Vendor) chooseAccount(uid, gid int, lookup func(string) (*user.User, error)) (Account, error) {
	if uid != 0 {
		return Account{Name: fmt.Sprintf("uid %d", uid), UID: uid, GID: gid}, nil
	}
	for _, name := range v.accounts {
		u, err := lookup(name)
		if err != nil {
			continue
		}
		id, err1 := strconv.Atoi(u.Uid)
		group, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil && id > 0 && group > 0 { // an account of uid 0 is root by another name
			return Account{Name: name, UID: id, GID: group, Other: true}, nil
		}
	}
	return Account{}, errors.New(v.Product + " does not run as root, and there is neither an account " +
		strings.Join(v.accounts, " nor ") +
		" for it; make one (useradd --system " + v.accounts[0] + "), or run hostlab as another user")
}

// Credential is what makes a child of ours run as the account, with its own group
// alone: nil where that is ourselves.
func (a Account) Credential() *syscall.Credential {
	if !a.Other {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)} //nolint:gosec // both are above 0
}

// give hands an open directory over to the account.
func (v *Vendor) give(dir *os.File, a Account) error {
	if !a.Other {
		return nil
	}
	if err := dir.Chown(a.UID, a.GID); err != nil {
		return fmt.Errorf(
			"%s runs as %s here, and its directory cannot be given to it (%w); run hostlab as a user other than root",
			v.Product, a.Name, err)
	}
	return nil
}

// makeTemporary makes a directory to which the server's account can walk by name.
func makeTemporary(s *Server) error {
	in := s.places[0]
	if s.account.Other {
		parents := []string{s.cfg.Parent, os.TempDir(), "/tmp", "/var/tmp"}
		i := slices.IndexFunc(parents, reachable)
		if i < 0 {
			return fmt.Errorf("%s runs as %s here, and can enter neither %s nor /tmp for its temporary tables; set TMPDIR to a "+
				"directory that all may enter",
				s.Vendor.Product, s.account.Name, s.cfg.Parent)
		}
		s.Vendor.Sweep(parents[i])
		p, err := s.Vendor.NewPlace(parents[i])
		if err != nil {
			return err
		}
		s.places = append(s.places, p)
		if err := p.lock.Chmod(0o711); err != nil { // others may walk to what is theirs within
			return s.Vendor.CannotMake(parents[i], err)
		}
		in = p
	}
	const name = "tmp"
	f, err := in.Sub(name, s.account)
	if err != nil {
		return err
	}
	s.temporary = filepath.Join(in.Path, name)
	return f.Close()
}

// reachable reports whether everybody may walk to a directory.
func reachable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		up := filepath.Dir(dir)
		if up == dir {
			return true
		}
		dir = up
	}
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
func segment(data *os.Root) (s shm, ok bool) {
	// What is there is the server's account's to choose, and we may be root.
	f, err := trust.OpenFile(data, "postmaster.pid", os.O_RDONLY, 0)
	if err != nil {
		return s, false
	}
	defer f.Close()
	in, err := data.Stat(".")
	if err != nil {
		return s, false
	}
	var st unix.Stat_t
	if owner, ok := in.Sys().(*syscall.Stat_t); !ok || unix.Fstat(int(f.Fd()), &st) != nil || st.Uid != owner.Uid {
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
	if _, err := unix.SysvShmCtl(s.id, unix.IPC_STAT, &d); err == nil && int(d.Perm.Key) == s.key &&
		d.Perm.Uid == s.owner &&
		d.Nattch == 0 {
		_, _ = unix.SysvShmCtl(s.id, unix.IPC_RMID, nil) // best effort: 50 bytes
	}
}

// segmentOf returns what removes the segment of a server that is about to be ended.
func segmentOf(data *os.Root) func() {
	s, known := segment(data)
	if !known {
		return nil
	}
	return s.remove
}
