//go:build system

package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hostlab/internal/testkit"
)

// TestHere: root reaches a server that runs here without a name, a password or a port, as the
// server's own account.
func TestHere(t *testing.T) {
	testkit.Root(t)
	for _, s := range []struct {
		kind, account, server string
		make, start           func(bin, dir string) []string
	}{
		{"postgresql", "postgres", "/usr/lib/postgresql/*/bin/postgres",
			func(bin, dir string) []string {
				return []string{filepath.Join(bin, "initdb"), "-D", dir + "/data", "--auth-local=peer", "--no-sync"}
			},
			func(bin, dir string) []string {
				return []string{filepath.Join(bin, "postgres"), "-D", dir + "/data", "-k", dir, "-c", "listen_addresses=", "-c",
					"port=54390"}
			}},
		{"mariadb", "mysql", "/usr/sbin/mariadbd",
			func(_, dir string) []string {
				return []string{"/usr/bin/mariadb-install-db", "--no-defaults", "--datadir=" + dir + "/data",
					"--auth-root-authentication-method=socket", "--skip-test-db"}
			},
			func(bin, dir string) []string {
				return []string{filepath.Join(bin, "mariadbd"), "--no-defaults", "--datadir=" + dir + "/data",
					"--socket=" + dir + "/server", "--skip-networking"}
			}},
	} {
		t.Run(s.kind, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir()) // no password file of whoever runs the test
			found, _ := filepath.Glob(s.server)
			if len(found) == 0 {
				t.Fatalf("%s is not installed: make test-deps", s.server)
			}
			account := testkit.Must(user.Lookup(s.account))(t)
			uid, _ := strconv.Atoi(account.Uid)
			gid, _ := strconv.Atoi(account.Gid)
			dir := testkit.Must(os.MkdirTemp("/tmp", "hostlab-here-"))(t)
			t.Cleanup(func() { os.RemoveAll(dir) })
			testkit.OK(t, errors.Join(os.Chown(dir, uid, gid), os.Chmod(dir, 0o755)))
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
			said := testkit.Must(os.Create(filepath.Join(dir, "said")))(t)
			server.Stderr = said
			testkit.OK(t, server.Start())
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
				// Another user is refused with the statement that lets it in; an administrator types that.
				client := func(statement string) *exec.Cmd {
					if s.kind == "mariadb" {
						return exec.Command("mariadb", "--no-defaults", "--socket="+dir+"/server", "-e", statement)
					}
					return run([]string{filepath.Join(filepath.Dir(found[0]), "psql"), "-h", dir, "-p", "54390", "-c", statement})
				}
				stranger(t, s.kind, d, client)
				trusted(t, s.kind, server.Process.Pid, dir, client)
				return
			}
			wrote, _ := os.ReadFile(said.Name())
			t.Fatalf("not reached: %v; it wrote %s", last, wrote)
		})
	}
}

// stranger asks as a user whom the server does not know, has the administrator type what the
// refusal says, and asks again.
func stranger(t *testing.T, kind string, admin *DSN, client func(statement string) *exec.Cmd) {
	t.Helper()
	const name = "nobody"
	d, err := Parse(strings.NewReplacer("user='postgres'", "user="+name, "://root@", "://"+name+"@").Replace(admin.text))
	testkit.OK(t, err)
	owner := testkit.Must(user.Lookup(name))(t)
	uid, _ := strconv.Atoi(owner.Uid)
	d.here, d.dial = true, func(ctx context.Context, _, _ string) (net.Conn, error) {
		_, at, _, _ := d.where()
		if kind == "postgresql" {
			at = filepath.Join(at, ".s.PGSQL.54390")
		}
		return dialAs(ctx, uid, at)
	}
	_, err = Open(t.Context(), d)
	_, statement, found := strings.Cut(fmt.Sprint(err), "lets this user in by: ")
	if !found || !strings.Contains(statement, name) {
		t.Fatalf("no statement for %s in %v", name, err)
	}
	for one := range strings.SplitSeq(statement, "; ") {
		if out, err := client(one).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", one, err, out)
		}
	}
	src, err := Open(t.Context(), d)
	if err != nil {
		t.Fatalf("after %q: %v", statement, err)
	}
	if missing := src.Server().Missing; strings.Contains(fmt.Sprint(missing), "grant ") && kind == "postgresql" {
		t.Errorf("after %q: %q", statement, missing)
	}
	src.Close()
}

// trusted has a server want a password, which it gets: its account and its program are those of Debian's packages.
func trusted(t *testing.T, kind string, pid int, dir string, client func(statement string) *exec.Cmd) {
	t.Helper()
	secrets(t, "monitor")
	methods, statement := []string{""}, "create user monitor@localhost identified by '"+ofRoot+
		"'; grant process on *.* to monitor@localhost"
	if kind == "postgresql" {
		methods, statement = []string{"scram-sha-256", "password"}, "alter role postgres password '"+ofRoot+"'"
	}
	if out, err := client(statement).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, method := range methods {
		if method != "" {
			testkit.OK(t, errors.Join(os.WriteFile(filepath.Join(dir, "data", "pg_hba.conf"), []byte("local all all "+method+"\n"),
				0o600), syscall.Kill(pid, syscall.SIGHUP)))
			for client("select 1").Run() == nil { // until it has read the file
				time.Sleep(20 * time.Millisecond)
			}
		}
		d := testkit.Must(Here(kind, pid))(t)
		src, err := Open(t.Context(), d)
		if err != nil || d.Doubt() != "" {
			t.Fatalf("%s: %v; doubt %q", method, err, d.Doubt())
		}
		src.Close()
	}
}

// TestLine: a server whose pg_hba.conf keeps a user out takes a line there.
func TestLine(t *testing.T) {
	d := testkit.Must(Parse(`host=/run/postgresql user='o"neil' dbname=postgres`))(t)
	d.here = true
	for said, want := range map[string]string{
		`Peer authentication failed for user "o'neil"`: `lets this user in: local all "o""neil" peer`,
		`role "x" does not exist`:                      `create role "o""neil" login in role pg_monitor`,
	} {
		if got := d.refused(said); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s", said, got)
		}
	}
}
