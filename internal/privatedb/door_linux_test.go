//go:build system

package privatedb

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
	"hostlab/internal/trust"
)

var door = &Vendor{Product: "Server", prefix: "hostlab-server-", accounts: []string{"nobody"}}

func must(t *testing.T, errs ...error) {
	t.Helper()
	testkit.OK(t, errors.Join(errs...))
}

// What was planted under the name of a place, while its server ran, is nobody's to kill or
// to remove.
func TestPlantedInPlace(t *testing.T) {
	parent := t.TempDir()
	home := testkit.Victim(t)
	must(t, os.WriteFile(filepath.Join(home, "keep"), nil, 0o600))
	p, err := door.NewPlace(parent)
	must(t, err)
	data, err := p.Sub(dataName, Account{UID: os.Geteuid()})
	must(t, err)
	defer data.Close()
	// By us: a user who may do it is refused, and may yet get there in another way.
	must(t, os.Rename(p.Path, p.Path+"-moved"), os.Mkdir(p.Path, 0o700), os.Symlink(home, filepath.Join(p.Path, dataName)))
	testkit.Fails(t, p.Remove(), "is another one by now", "removed")
	if _, err := os.Stat(filepath.Join(home, "keep")); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(p.Path + "-moved"); err != nil || len(left) > 0 {
		t.Errorf("what was made is not empty: %v, %v", left, err)
	}
	if _, err := os.Lstat(filepath.Join(p.Path, dataName)); err != nil {
		t.Errorf("what was planted: %v", err)
	}
}

// A link in place of the data, within a place that is ours, leads nowhere.
func TestLinkedData(t *testing.T) {
	home := testkit.Victim(t)
	p, err := door.NewPlace(t.TempDir())
	must(t, err, os.Symlink(home, filepath.Join(p.Path, dataName)), p.Remove())
	if _, err := os.Stat(home); err != nil {
		t.Error(err)
	}
}

// As root nothing is made where another user can rename it, and what lies there under our
// names stays: it may be a directory of ours that was renamed.
func TestDirectoryOfAnother(t *testing.T) {
	parent := testkit.EvesDir(t)
	home := testkit.Victim(t)
	planted := filepath.Join(parent, door.prefix+"1-planted")
	must(t, os.Mkdir(planted, 0o700), os.Symlink(home, filepath.Join(planted, dataName)), os.WriteFile(filepath.Join(planted, "keep"), nil, 0o600))
	s := &Server{Vendor: door, cfg: Config{Parent: parent}}
	err := s.directories()
	var refused *trust.Refused
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "belongs to uid 54321, who could replace what root writes there; name a directory of root's") || strings.Contains(err.Error(), "\n") {
		t.Errorf("prepared: %v", err)
	}
	must(t, s.Close())
	if left, err := os.ReadDir(parent); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(planted, "keep")); err != nil {
		t.Error(err)
	}
}

// What somebody plants in /tmp is not swept: neither a place of hers, nor one of ours that
// lies in a directory of hers.
func TestPlantedBeside(t *testing.T) {
	top := t.TempDir()
	must(t, os.Chmod(top, os.ModeSticky|0o777))
	testkit.Root(t)
	home := testkit.Victim(t)
	hers, ours := filepath.Join(top, "hostlab-eve"), filepath.Join(top, "hostlab-ours")
	inHers, beside := filepath.Join(hers, door.prefix+"1-a"), filepath.Join(ours, door.prefix+"1-b")
	for _, dir := range []string{hers, ours, inHers, beside} {
		must(t, os.Mkdir(dir, 0o700))
	}
	must(t, os.Symlink(home, filepath.Join(inHers, dataName)), os.Symlink(home, filepath.Join(beside, dataName)), os.Chown(hers, testkit.Eve, testkit.Eve), os.Chown(beside, testkit.Eve, testkit.Eve))
	door.Sweep(ours)
	for _, dir := range []string{home, inHers, beside} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
}

// A process in the directory of the data that runs as a third user is not ours to end.
func TestStrangerInside(t *testing.T) {
	testkit.Root(t)
	p, err := door.NewPlace(t.TempDir())
	must(t, err)
	data, err := p.Sub(dataName, Account{UID: 65534, GID: 65534, Other: true})
	must(t, err)
	defer data.Close()
	start := func(uid uint32) *exec.Cmd {
		cmd := exec.Command("sh", "-c", "cd /proc/self/fd/3 && exec sleep 300") // by name it may not go there
		cmd.Dir, cmd.ExtraFiles = "/", []*os.File{data}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		testkit.Start(t, cmd)
		return cmd
	}
	must(t, data.Chmod(0o755))
	stranger, server := start(testkit.Eve), start(65534)
	want, err := data.Stat()
	must(t, err)
	for _, cmd := range []*exec.Cmd{stranger, server} {
		for h := (*proc.Held)(nil); h == nil || !h.Inside(want); h.Close() {
			h, err = proc.Hold(cmd.Process.Pid)
			must(t, err)
		}
	}
	must(t, p.Remove())
	if s, err := proc.Read(stranger.Process.Pid); err != nil || s.Ended() {
		t.Error("the stranger was killed")
	}
	if s, err := proc.Read(server.Process.Pid); err == nil && !s.Ended() {
		t.Error("the server runs")
	}
	_ = unix.Kill(stranger.Process.Pid, unix.SIGKILL)
}
