//go:build linux && amd64 && system

package testbed

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"hostlab/internal/testkit"
)

// liveImage makes a disk with PostgreSQL: its programs with their libraries, so that it can be its root, its data, and
// room for what hostlab records.
func liveImage(t *testing.T) string {
	t.Helper()
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(programs) == 0 {
		t.Fatal("no PostgreSQL is installed")
	}
	postgres := programs[len(programs)-1]
	version := filepath.Base(filepath.Dir(filepath.Dir(postgres)))
	owner := testkit.Must(user.Lookup("postgres"))(t)
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(owner.Gid)
	root, err := os.MkdirTemp("", "live-") // initdb's user has to come here, which those of t.TempDir do not allow
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)
	testkit.OK(t, os.Chmod(root, 0o755))
	for dir, mode := range map[string]os.FileMode{"data": 0o700, "run": 0o755, "hostlab": 0o700, "records": 0o700} {
		at := filepath.Join(root, dir)
		testkit.OK(t, os.Mkdir(at, mode))
		if dir == "data" || dir == "run" {
			testkit.OK(t, os.Chown(at, uid, gid))
		}
	}
	withLibraries(t, root, postgres, "/usr/share/postgresql/"+version+"/timezonesets/Default")
	if err := os.MkdirAll(root+filepath.Dir(filepath.Dir(postgres))+"/lib", 0o755); err != nil { // the server asks for it
		t.Fatal(err)
	}
	initdb := exec.Command(filepath.Join(filepath.Dir(postgres), "initdb"), "-D", root+"/data", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=1")
	initdb.Dir = root
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	said(t, initdb)
	conf, err := os.OpenFile(root+"/data/postgresql.conf", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The root has no /dev/shm, no time zones and no network.
	_, err = fmt.Fprintln(conf, "listen_addresses=''\nunix_socket_directories='/run'\ndynamic_shared_memory_type=mmap\n"+
		"timezone='GMT'\nlog_timezone='GMT'\n"+
		"commit_siblings=0\nshared_buffers=16MB\nmax_connections=20\nautovacuum=off\nrecovery_init_sync_method=syncfs")
	if e := conf.Close(); err != nil || e != nil {
		t.Fatal(err, e)
	}
	image := filepath.Join(t.TempDir(), "live.img")
	said(t, exec.Command("/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-d", root, image, "384M"))
	return image
}

// withLibraries copies a program of this machine below a root, with its libraries and other files.
func withLibraries(t *testing.T, root, program string, more ...string) {
	t.Helper()
	libraries := testkit.Must(exec.Command("ldd", program).Output())(t)
	files := append([]string{program}, more...)
	files = append(files, regexp.MustCompile(`/[^ )]+`).FindAllString(string(libraries), -1)...)
	for _, f := range files {
		to := root + f
		testkit.OK(t, os.MkdirAll(filepath.Dir(to), 0o755))
		said(t, exec.Command("cp", "-rL", f, to))
	}
}

func said(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", cmd, err, out)
	}
}
