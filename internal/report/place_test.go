package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

// The log directory is that of a server that runs, and the report says when it is not.
func TestFindLog(t *testing.T) {
	real := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	t.Setenv("TMPDIR", real)
	dir := func(name string) string {
		d := filepath.Join(real, name)
		testkit.OK(t, os.MkdirAll(d, 0o700))
		return d
	}
	wal, redo := dir("main/pg_wal"), dir("mysql/#innodb_redo")
	link := filepath.Join(real, "link")
	testkit.OK(t, os.Symlink(wal, link))
	known := func(s string) host.Fact[string] { return host.Known(s, "", "/proc") }
	denied := host.Fact[string]{State: host.StateDenied, Reason: "not allowed to look"}
	server := func(kind string, pid int, log host.Fact[string]) host.Database {
		return host.Database{Kind: kind, PID: pid, LogDir: log, DataDir: known(filepath.Dir(wal))}
	}
	for name, c := range map[string]struct {
		server host.Database
		dir    string
		found  bool
		why    []string
		wrong  string
	}{
		"its own": {server("postgresql", 1, known(wal)), wal, true,
			[]string{"the log directory of PostgreSQL (process 1)"}, ""},
		"MySQL's own": {server("mysql", 3, known(redo)), filepath.Dir(redo), true, []string{"MySQL (process 3)"}, ""},
		"a link": {server("postgresql", 1, known(link)), real, false,
			[]string{"on the same device", "does not use", "symbolic link"}, ""},
		"gone": {server("postgresql", 1, known(real+"/none")), real, false, []string{"(does not exist)"}, "another device"},
		"not to be had": {server("postgresql", 1, denied), real, false,
			[]string{"on the device of " + filepath.Dir(wal), "is not known (not allowed to look)"},
			"the log of PostgreSQL (process 1) may be on another device than"},
		"none": {server("redis", 1, host.Fact[string]{State: host.StateAbsent, Reason: "no append-only file is open"}), real, false,
			[]string{"on the device of " + filepath.Dir(wal)},
			"the log directory of Redis (process 1) is not known (no append-only file is open)"},
		"elsewhere": {host.Database{Kind: "oracle", PID: 1, LogDir: known("/proc/none")}, "", false,
			[]string{"hostlab does not use /proc/none", "name a directory on its device with --log-dir"}, ""},
	} {
		got := findLog(host.Tree{}, c.server)
		if got.dir != c.dir || (got.dir == "") != (got.none != "") || got.found != c.found ||
			(got.wrong == "") != (c.wrong == "") || !strings.Contains(got.wrong, c.wrong) {
			t.Errorf("%s: %+v", name, got)
		}
		for _, s := range c.why {
			if !strings.Contains(got.why+got.none, s) {
				t.Errorf("%s: why is %q%q, want %q", name, got.why, got.none, s)
			}
		}
	}
}

// Commits are timed where the watched service has its log, and in no other server's directory.
func TestLogOfTheWatched(t *testing.T) {
	dir := t.TempDir()
	servers := []host.Database{{Kind: "mariadb", PID: 8, LogDir: host.Known(dir, "", "/proc")}}
	for name, c := range map[string]struct {
		of   *service.Service
		want string
	}{
		"nothing":          {nil, ""},
		"a unit":           {&service.Service{Kind: service.Unit, PID: 7}, ""},
		"a remote server":  {&service.Service{Kind: service.Database}, ""},
		"this very server": {&service.Service{PID: 8}, dir},
	} {
		if got := logOf(host.Tree{}, c.of, servers); got.dir != c.want || (got.none == "") != (c.want != "") {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

// A directory that was asked for and takes no commits is an error; one that was found is a reason.
func TestPlaceIsTriedOnce(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	o := Options{LogDir: none}
	var unusable *Unusable
	if _, err := o.named(host.Tree{}); !errors.As(err, &unusable) || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("named: %v", err)
	}
	if p := o.tried(host.Tree{}, place{dir: none, why: "found"}); !strings.Contains(p.none, "does not exist") ||
		p.why != "" {
		t.Errorf("found: %+v", p)
	}
}
