package privatedb

import (
	"os"
	"os/user"
	"path/filepath"
	"testing"

	"hostlab/internal/testkit"
)

// What is locked, or has another name, stays.
func TestSweepLeavesOthers(t *testing.T) {
	dir, k := t.TempDir(), &Vendor{Product: "Server", prefix: "hostlab-server-"}
	live := testkit.Must(k.NewPlace(dir))(t)
	for _, name := range []string{"data", "hostlab-server"} {
		testkit.OK(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	target := t.TempDir()
	testkit.OK(t, os.Symlink(target, filepath.Join(dir, k.prefix+"link")))
	testkit.OK(t, os.Mkdir(filepath.Join(dir, k.prefix+"dead"), 0o700))
	k.Sweep(dir)
	var left []string
	entries := testkit.Must(os.ReadDir(dir))(t)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	testkit.Same(t, []string{"data", "hostlab-server", filepath.Base(live.Path), k.prefix + "link"}, left)
	if err := live.Remove(); err != nil {
		t.Error(err)
	}
}

func TestChooseAccount(t *testing.T) {
	all := map[string]*user.User{"postgres": {Uid: "101", Gid: "104"}, "nobody": {Uid: "65534", Gid: "65534"}}
	lookup := func(list map[string]*user.User) func(string) (*user.User, error) {
		return func(name string) (*user.User, error) {
			if u := list[name]; u != nil {
				return u, nil
			}
			return nil, user.UnknownUserError(name)
		}
	}
	for _, c := range []struct {
		name  string
		uid   int
		users map[string]*user.User
		want  Account
		fails bool
	}{
		{"not root", 1000, all, Account{Name: "uid 1000", UID: 1000, GID: 1000}, false},
		{"root", 0, all, Account{Name: "postgres", UID: 101, GID: 104, Other: true}, false},
		{"root without postgres", 0, map[string]*user.User{"nobody": all["nobody"]}, Account{Name: "nobody", UID: 65534, GID: 65534, Other: true}, false},
		{"postgres is root", 0, map[string]*user.User{"postgres": {Uid: "0", Gid: "0"}}, Account{}, true},
		{"nobody is there", 0, nil, Account{}, true},
	} {
		got, err := (&Vendor{Product: "PostgreSQL", accounts: []string{"postgres", "nobody"}}).chooseAccount(c.uid, c.uid, lookup(c.users))
		if (err != nil) != c.fails || got != c.want {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}
