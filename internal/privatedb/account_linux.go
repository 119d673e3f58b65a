package privatedb

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

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
