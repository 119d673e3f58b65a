//go:build system

package delayfs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
	"hostlab/internal/worker"
)

const holdVar = "HOSTLAB_DELAYFS_HOLD"

func TestMain(m *testing.M) {
	worker.Main(Jobs())
	if base := os.Getenv(holdVar); base != "" {
		if _, err := New(context.Background(), filepath.Join(base, "behind"), filepath.Join(base, "at"), time.Millisecond); err != nil {
			println(err.Error())
			os.Exit(1)
		}
		println("mounted")
		select {}
	}
	os.Exit(m.Run())
}

// dirs makes the two directories.
func dirs(t *testing.T) (base string) {
	t.Helper()
	testkit.Root(t)
	base = t.TempDir()
	for _, name := range []string{"behind", "at"} {
		testkit.OK(t, os.Mkdir(filepath.Join(base, name), 0o700))
	}
	if why := Lacking(); why != "" {
		t.Fatal(why)
	}
	return base
}

// Syncs and synchronous writes take at least the delay, plain writes arrive behind, and
// after Close nothing is mounted.
func TestDelays(t *testing.T) {
	base := dirs(t)
	const delay = 20 * time.Millisecond
	m := testkit.Must(New(t.Context(), base+"/behind", base+"/at", delay))(t)
	defer m.Close()
	for _, c := range []struct {
		name  string
		flags int
		sync  func(fd int) error
		slow  bool // the write itself
	}{
		{"fdatasync", 0, unix.Fdatasync, false},
		{"fsync", 0, unix.Fsync, false},
		{"dsync", unix.O_DSYNC, nil, true},
		{"sync", unix.O_SYNC, nil, true},
		{"direct", unix.O_DSYNC | unix.O_DIRECT, nil, true},
		{"", unix.O_TMPFILE, unix.Fsync, false},
		{"", unix.O_TMPFILE, unix.Fdatasync, false},
		{"", unix.O_TMPFILE | unix.O_DSYNC, nil, true},
		{"", unix.O_TMPFILE | unix.O_DSYNC | unix.O_DIRECT, nil, true},
	} {
		path, flags := filepath.Join(base, "at", c.name), unix.O_RDWR|unix.O_CLOEXEC|c.flags
		if c.name != "" {
			flags |= unix.O_CREAT
		}
		fd, err := unix.Open(path, flags, 0o600)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		server, _, _ := proc.FileSystem(os.Getpid(), base+"/at")
		if us := []int{os.Getpid()}; !proc.ServesFiles(server, us) || proc.ServesFiles(os.Getpid(), us) {
			t.Errorf("%s: process %d does not serve it, or we do", c.name, server)
		}
		block := bytes.Repeat([]byte{7}, 8192)
		began := time.Now()
		n, err := unix.Pwrite(fd, block, 0)
		if took := time.Since(began); err != nil || n != len(block) || c.slow && took < delay {
			t.Errorf("%s: wrote %d bytes in %v: %v", c.name, n, took, err)
		}
		if c.sync != nil {
			began = time.Now()
			if err := c.sync(fd); err != nil || time.Since(began) < delay {
				t.Errorf("%s took %v: %v", c.name, time.Since(began), err)
			}
		}
		_ = unix.Close(fd)
		if c.name == "" {
			continue
		}
		if got, err := os.ReadFile(filepath.Join(base, "behind", c.name)); err != nil || !bytes.Equal(got, block) {
			t.Errorf("%s: %d bytes arrived behind: %v", c.name, len(got), err)
		}
	}
	d := testkit.Must(os.Open(base + "/at"))(t)
	began := time.Now()
	if err := d.Sync(); err != nil || time.Since(began) < delay {
		t.Errorf("the sync of a directory took %v: %v", time.Since(began), err)
	}
	names, err := d.Readdirnames(-1)
	if err != nil || len(names) != 5 {
		t.Errorf("names %v: %v", names, err)
	}
	// It is unmounted although the directory is still open.
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	_ = d.Close()
	if mounted(base + "/at") {
		t.Error("still mounted")
	}
	if left, err := os.ReadDir(base + "/at"); err != nil || len(left) != 0 {
		t.Errorf("%d files at the mount point after Close: %v", len(left), err)
	}
}

// The mount ends with the process that made it, however that ends, and what a killed
// server leaves is unmounted by the next start.
func TestKilled(t *testing.T) {
	base := dirs(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdVar+"="+base)
	out := testkit.Must(cmd.StderrPipe())(t)
	testkit.OK(t, cmd.Start())
	line := make([]byte, 8)
	if _, err := out.Read(line); err != nil || !mounted(base+"/at") {
		t.Fatalf("not mounted: %s %v", line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for end := testkit.End(t); mounted(base + "/at"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("still mounted 10 s after SIGKILL")
		}
	}

	m := testkit.Must(New(t.Context(), base+"/behind", base+"/at", time.Millisecond))(t)
	server := testkit.Must(os.FindProcess(m.session.PID()))(t)
	_ = server.Kill()
	for end := testkit.End(t); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(base + "/at"); errors.Is(err, unix.ENOTCONN) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the mount answers 10 s after its server was killed")
		}
	}
	Sweep()
	if mounted(base + "/at") {
		t.Error("Sweep left a dead mount")
	}
	_ = m.Close()
}

// Who may rename a directory above a mount of ours puts a link in its place: what that leads
// to stays mounted.
func TestReplacedPath(t *testing.T) {
	base := dirs(t)
	above, moved, other := filepath.Join(base, "above"), filepath.Join(base, "moved"), filepath.Join(base, "other")
	at, innocent := filepath.Join(above, "at"), filepath.Join(other, "at")
	for _, dir := range []string{above, other, at, innocent} {
		testkit.OK(t, os.Mkdir(dir, 0o700))
	}
	testkit.OK(t, unix.Mount("innocent", innocent, "tmpfs", 0, ""))
	defer func() { _ = unix.Unmount(innocent, unix.MNT_DETACH) }()
	m := testkit.Must(New(t.Context(), filepath.Join(base, "behind"), at, time.Millisecond))(t)
	seen := mounts()
	testkit.OK(t, errors.Join(os.Rename(above, moved), os.Symlink(other, above)))
	for _, s := range seen {
		if s.at == at {
			s.detach(false)
		}
	}
	if err := os.WriteFile(filepath.Join(innocent, "file"), nil, 0o600); err != nil {
		t.Error(err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(innocent, &st); err != nil || st.Type != unix.TMPFS_MAGIC {
		t.Errorf("the other file system was unmounted: type %x, %v", st.Type, err)
	}
	if !mounted(filepath.Join(moved, "at")) {
		t.Error("ours was unmounted by the name of another")
	}
	if err := errors.Join(os.Remove(above), os.Rename(moved, above), m.Close()); err != nil || mounted(at) {
		t.Errorf("not closed: %v", err)
	}
}
