//go:build system && linux

package connect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// A copy of this program that is started so is a fake server on that socket, which keeps what it is sent beside it.
const fakeSocket = "HOSTLAB_TEST_FAKE"

func init() {
	file := os.Getenv(fakeSocket)
	if file == "" {
		return
	}
	l, err := net.Listen("unix", file)
	if err == nil {
		err = os.Chmod(file, 0o777)
	}
	got, err2 := os.Create(filepath.Join(filepath.Dir(file), "got"))
	if err := errors.Join(err, err2); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		mariaAsks("caching_sha2_password", "", fullAuthentication...)(struct {
			io.Reader
			io.Writer
		}{io.TeeReader(c, got), c})
		c.Close()
	}
}

// Any user may have a process that is called and listens like a database: with a program of their own, one that was
// deleted, one that stands in the place of root's in a mount namespace, and root may start a program that they can
// change. None gets root's password.
func TestStrangers(t *testing.T) {
	testkit.Root(t)
	const server = "/usr/sbin/mariadbd"
	self := testkit.Must(os.ReadFile("/proc/self/exe"))(t)
	for name, c := range map[string]struct {
		uid     uint32
		command []string // DIR stands for the directory
		deleted bool
		why     string
	}{
		"their own": {testkit.Eve, []string{"DIR/mariadbd"}, false, "its socket belongs to"},
		"deleted":   {testkit.Eve, []string{"DIR/mariadbd"}, true, "its socket belongs to"},
		"in a mount namespace": {testkit.Eve, []string{"unshare", "-Urm", "sh", "-c",
			"mount --bind DIR/mariadbd " + server + " && exec " + server}, false, "its socket belongs to"},
		"root's, but theirs":  {0, []string{"DIR/mariadbd"}, false, "can be replaced"},
		"root's, and deleted": {0, []string{"DIR/mariadbd"}, true, "it runs"},
		"root's in a namespace": {0, []string{"unshare", "-m", "sh", "-c",
			"mount --bind DIR/mariadbd " + server + " && exec " + server}, false,
			"its program is not the " + server + " of this host"},
	} {
		t.Run(name, func(t *testing.T) {
			secrets(t, "")
			dir := testkit.Must(os.MkdirTemp("/tmp", "hostlab-stranger-"))(t)
			t.Cleanup(func() { os.RemoveAll(dir) })
			program, file := filepath.Join(dir, "mariadbd"), filepath.Join(dir, "my.sock")
			for _, err := range []error{os.WriteFile(program, self, 0o755), os.Chown(dir, testkit.Eve, testkit.Eve),
				os.Chmod(dir, 0o755)} {
				testkit.OK(t, err)
			}
			args := strings.Split(strings.ReplaceAll(strings.Join(c.command, "\n"), "DIR", dir), "\n")
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Env, cmd.Dir, cmd.Stderr = append(os.Environ(), fakeSocket+"="+file), dir, os.Stderr
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.uid, Gid: c.uid}}
			testkit.Start(t, cmd)
			for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
				if conn, err := net.Dial("unix", file); err == nil {
					conn.Close()
					break
				}
				if time.Since(began) > time.Minute {
					t.Fatal("it does not listen")
				}
			}
			if c.deleted {
				testkit.OK(t, os.Remove(program))
			}
			d := testkit.Must(Here("mariadb", cmd.Process.Pid))(t)
			_, err := Open(t.Context(), d)
			want := fmt.Sprintf("process %d was found and is not trusted with a password: ", cmd.Process.Pid)
			if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), c.why) {
				t.Errorf("said %v, want %q and %q", err, want, c.why)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "got")); err != nil || len(got) == 0 ||
				bytes.Contains(got, []byte(ofRoot)) {
				t.Errorf("%v: it was sent %q", err, got)
			}
		})
	}
}
