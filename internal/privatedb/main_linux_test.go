//go:build system

package privatedb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
	"hostlab/internal/trust"
)

// parentEnv and vendorEnv make this binary a hostlab that is killed while its server runs;
// fullEnv makes it the child of TestFullDisk.
const (
	parentEnv = "HOSTLAB_TEST_PARENT"
	vendorEnv = "HOSTLAB_TEST_VENDOR"
	fullEnv   = "HOSTLAB_TEST_FULL"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "server":
		serve()
		return
	case "session":
		session()
		return
	}
	if dir := os.Getenv(parentEnv); dir != "" {
		s, err := Start(context.Background(), Named(os.Getenv(vendorEnv)), Config{Parent: dir, LogBytes: 8 << 20})
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stdout, s.PID()) // killParent reads it
		select {}
	}
	if dir := os.Getenv(fullEnv); dir != "" {
		if err := fillDisks(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// start has a server that is closed with the test.
func start(t *testing.T, v *Vendor, cfg Config) *Server {
	t.Helper()
	cfg.LogBytes = 8 << 20
	s := testkit.Must(Start(t.Context(), v, cfg))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// killParent kills such a hostlab, and returns which process its server below dir is.
func killParent(t *testing.T, v *Vendor, dir string) (pid int) {
	t.Helper()
	exe := testkit.Must(os.Executable())(t)
	cmd := exec.Command(exe)
	cmd.Env, cmd.Stderr = append(os.Environ(), parentEnv+"="+dir, vendorEnv+"="+v.Name), os.Stderr
	out := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	testkit.Must(fmt.Fscan(out, &pid))(t)
	testkit.OK(t, cmd.Process.Kill())
	_ = cmd.Wait()
	return pid
}

// gone expects that a directory is empty and that a process ends; -1: there is none.
func gone(t *testing.T, dir string, pid int) {
	t.Helper()
	entries := testkit.Must(os.ReadDir(dir))(t)
	for _, e := range entries {
		t.Errorf("%s was left in %s", e.Name(), dir)
	}
	ends(t, pid)
}

// ends waits until a process has ended.
func ends(t *testing.T, pid int) {
	t.Helper()
	for end := testkit.End(t); alive(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// alive leaves out zombies, which an init of a container may never reap.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

// environ is the environment of a server, which must not be root's.
func environ(t *testing.T, pid int) string {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d", pid)
	info := testkit.Must(os.Stat(dir))(t)
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid == 0 {
		t.Error("it runs as root")
	}
	b, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// closedDir is deeper than a socket's path may be long, and closed to others.
func closedDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 30))
	testkit.OK(t, os.MkdirAll(dir, 0o700))
	return dir
}

// TestFullDisk runs out of disk at the start and in the middle, on small file systems
// that are mounted in a name space of a child. That takes root, which a name space for
// users cannot give here: the server runs as another account.
func TestFullDisk(t *testing.T) {
	testkit.Root(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fullEnv+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// fillDisks is that child. It says what was not as it should be.
func fillDisks(base string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, c := range []struct {
		size string
		want string
		run  func(dir string) error
	}{
		{"8m", "PostgreSQL's disk is full in " + filepath.Join(base, "8m") + ": a new cluster takes about 60 MB; make room, use less data, ", func(dir string) error {
			s, err := Start(context.Background(), PostgreSQL, Config{Parent: dir})
			if err == nil {
				return fmt.Errorf("it started: %w", s.Close())
			}
			return err
		}},
		{"100m", "PostgreSQL's disk is full in " + filepath.Join(base, "100m") + "/", func(dir string) error {
			ctx := context.Background()
			s, err := Start(ctx, PostgreSQL, Config{Parent: dir, Settings: map[string]string{"wal_level": "minimal", "max_wal_senders": "0"}})
			if err != nil {
				return err
			}
			defer s.Close() //nolint:errcheck // what it leaves is looked at
			c, err := s.Connect(ctx)
			if err != nil {
				return err
			}
			_, err = c.Exec(ctx, "CREATE UNLOGGED TABLE t AS SELECT repeat('x', 1000) FROM generate_series(1, 200000)")
			return s.Explain(ctx, err)
		}},
		{"10m", "PostgreSQL's disk is full in " + base + " or " + filepath.Join(base, "10m") + ": a new cluster takes about 40 MB in the first and 20 MB in the second", func(dir string) error {
			s, err := Start(context.Background(), PostgreSQL, Config{Parent: base, LogDir: dir})
			if err == nil {
				return fmt.Errorf("it started: %w", s.Close())
			}
			return err
		}},
		{"40m", "PostgreSQL's log has no room left in ", func(dir string) error {
			ctx := context.Background()
			s, err := Start(ctx, PostgreSQL, Config{Parent: base, LogDir: dir, Settings: map[string]string{"max_wal_size": "16GB", "checkpoint_timeout": "1d", "autovacuum": "off"}})
			if err != nil {
				return err
			}
			defer s.Close() //nolint:errcheck // what it leaves is looked at
			c, err := s.Connect(ctx)
			if err != nil {
				return err
			}
			if _, err = c.Exec(ctx, "CREATE TABLE t (x text)"); err != nil {
				return err
			}
			_, err = c.Exec(ctx, "INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 60000)")
			return s.Explain(ctx, err)
		}},
	} {
		dir := filepath.Join(base, c.size)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+c.size); err != nil {
			return err
		}
		err := c.run(dir)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			return fmt.Errorf("with %s: %w, want %q", c.size, err, c.want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			return fmt.Errorf("with %s: left %v, error %w", c.size, left, err)
		}
	}
	return nil
}

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
