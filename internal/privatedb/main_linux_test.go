//go:build system

package privatedb

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/testkit"
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
