// Package privatetest has what the tests of private servers of all makes need. It takes
// Linux.
package privatetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const parentEnv = "HOSTLAB_TEST_PARENT"

// Parent lets a test binary be a hostlab that is killed while its server runs. TestMain
// calls it; it only returns where the binary is not to be that. start starts a server
// below dir.
func Parent(start func(dir string) (pid int, err error)) {
	dir := os.Getenv(parentEnv)
	if dir == "" {
		return
	}
	pid, err := start(dir)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, pid) // KillParent reads it
	select {}
}

// KillParent kills such a hostlab, and returns which process its server below dir is.
func KillParent(t *testing.T, dir string) (pid int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env, cmd.Stderr = append(os.Environ(), parentEnv+"="+dir), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return pid
}

// Gone expects that a directory is empty and that a process ends; -1: there is none.
func Gone(t *testing.T, dir string, pid int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s was left in %s", e.Name(), dir)
	}
	Ends(t, pid)
}

// Ends waits until a process has ended.
func Ends(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); Alive(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// Alive leaves out zombies, which an init of a container may never reap.
func Alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

// Environ is the environment of a server, which must not be root's.
func Environ(t *testing.T, pid int) string {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d", pid)
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid == 0 {
		t.Error("it runs as root")
	}
	b, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// ClosedDir is deeper than a socket's path may be long, and closed to others.
func ClosedDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
