package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// account is who the server runs as.
type account struct {
	name     string
	uid, gid int
	other    bool // not ourselves
}

// candidates are tried in this order where we are root.
var candidates = []string{"postgres", "nobody"}

// serverAccount decides who the server runs as: see the package's comment.
func serverAccount() (account, error) {
	return chooseAccount(os.Geteuid(), os.Getegid(), user.Lookup)
}

func chooseAccount(uid, gid int, lookup func(string) (*user.User, error)) (account, error) {
	if uid != 0 {
		return account{name: fmt.Sprintf("uid %d", uid), uid: uid, gid: gid}, nil
	}
	for _, name := range candidates {
		u, err := lookup(name)
		if err != nil {
			continue
		}
		id, err1 := strconv.Atoi(u.Uid)
		group, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil && id > 0 && group > 0 { // an account of uid 0 is root by another name
			return account{name: name, uid: id, gid: group, other: true}, nil
		}
	}
	return account{}, errors.New("PostgreSQL does not run as root, and there is neither an account postgres nor nobody for it; make one (useradd --system postgres), or run hostlab as another user")
}

// credential is what makes a child of ours run as the account, with its own group
// alone: nil where that is ourselves.
func (a account) credential() *syscall.Credential {
	if !a.other {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)} //nolint:gosec // both are above 0
}

// give hands an open directory over to the account.
func (a account) give(dir *os.File) error {
	if !a.other {
		return nil
	}
	if err := dir.Chown(a.uid, a.gid); err != nil {
		return fmt.Errorf("PostgreSQL runs as %s here, and its directory cannot be given to it (%w); run hostlab as a user other than root", a.name, err)
	}
	return nil
}
