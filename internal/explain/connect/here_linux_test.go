//go:build system

package connect

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/systemtest"
)

// TestHere: root reaches a server that runs here without a name, a password or a port, as the
// server's own account.
func TestHere(t *testing.T) {
	systemtest.Root(t)
	for _, s := range []struct {
		kind, account, server string
		make, start           func(bin, dir string) []string
	}{
		{"postgresql", "postgres", "/usr/lib/postgresql/*/bin/postgres",
			func(bin, dir string) []string {
				return []string{filepath.Join(bin, "initdb"), "-D", dir + "/data", "--auth-local=peer", "--no-sync"}
			},
			func(bin, dir string) []string {
				return []string{filepath.Join(bin, "postgres"), "-D", dir + "/data", "-k", dir, "-c", "listen_addresses=", "-c", "port=54390"}
			}},
		{"mariadb", "mysql", "/usr/sbin/mariadbd",
			func(_, dir string) []string {
				return []string{"/usr/bin/mariadb-install-db", "--no-defaults", "--datadir=" + dir + "/data", "--auth-root-authentication-method=socket", "--skip-test-db"}
			},
			func(bin, dir string) []string {
				return []string{filepath.Join(bin, "mariadbd"), "--no-defaults", "--datadir=" + dir + "/data", "--socket=" + dir + "/my.sock", "--skip-networking"}
			}},
	} {
		t.Run(s.kind, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir()) // no password file of whoever runs the test
			found, _ := filepath.Glob(s.server)
			if len(found) == 0 {
				t.Fatalf("%s is not installed: make test-deps", s.server)
			}
			account, err := user.Lookup(s.account)
			if err != nil {
				t.Fatal(err)
			}
			uid, _ := strconv.Atoi(account.Uid)
			gid, _ := strconv.Atoi(account.Gid)
			dir, err := os.MkdirTemp("/tmp", "hostlab-here-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			if err := os.Chown(dir, uid, gid); err != nil {
				t.Fatal(err)
			}
			run := func(args []string) *exec.Cmd {
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Dir = dir
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
				return cmd
			}
			if out, err := run(s.make(filepath.Dir(found[0]), dir)).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			server := run(s.start(filepath.Dir(found[0]), dir))
			said, err := os.Create(filepath.Join(dir, "said"))
			if err != nil {
				t.Fatal(err)
			}
			server.Stderr = said
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = server.Process.Signal(syscall.SIGTERM); _ = server.Wait(); said.Close() })
			var last error
			for range 150 {
				time.Sleep(100 * time.Millisecond)
				d, err := Here(s.kind, server.Process.Pid)
				if last = err; err != nil {
					continue
				}
				src, err := Open(context.Background(), d)
				if last = err; err != nil {
					continue
				}
				defer src.Close()
				if got := src.Server(); got.Version == "" || strings.Contains(strings.Join(got.Missing, " "), "pg_read_all_stats") {
					t.Errorf("%+v", got)
				}
				return
			}
			wrote, _ := os.ReadFile(said.Name())
			t.Fatalf("not reached: %v; it wrote %s", last, wrote)
		})
	}
}
