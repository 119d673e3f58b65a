package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/service"
)

// The log directory is that of a server that runs, and the report says when it is not.
func TestFindLog(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", real)
	dir := func(name string) string {
		d := filepath.Join(real, name)
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
		return d
	}
	here, wal, redo := dir("here"), dir("main/pg_wal"), dir("mysql/#innodb_redo")
	link := filepath.Join(real, "link")
	if err := os.Symlink(wal, link); err != nil {
		t.Fatal(err)
	}
	known := func(s string) host.Fact[string] { return host.Known(s, "", "/proc") }
	denied := host.Fact[string]{State: host.StateDenied, Reason: "not allowed to look"}
	server := func(kind string, pid int, log host.Fact[string]) host.Database {
		return host.Database{Kind: kind, PID: pid, LogDir: log, DataDir: known(filepath.Dir(wal))}
	}
	pg := server("postgresql", 1, known(wal))
	cpu := func(pid int) float64 { return float64(pid) }
	for name, c := range map[string]struct {
		servers []host.Database
		dir     string
		found   bool
		why     []string
		wrong   string
	}{
		"none":        {nil, here, false, []string{"the current directory, because no running database server was found"}, ""},
		"one":         {[]host.Database{pg}, wal, true, []string{"the log directory of PostgreSQL (process 1)"}, ""},
		"the busiest": {[]host.Database{pg, server("mariadb", 2, known(here))}, here, true, []string{"MariaDB (process 2), the one of 2 database servers here that has used the most CPU time"}, ""},
		"a false one": {[]host.Database{pg, {Kind: "mariadb", PID: 2, LogDir: host.Fact[string]{State: host.StateError, Reason: "its program is sleep"}}}, wal, true,
			[]string{"the log directory of PostgreSQL (process 1); MariaDB (process 2) is left out (its program is sleep)"}, ""},
		"MySQL's own":   {[]host.Database{server("mysql", 3, known(redo))}, filepath.Dir(redo), true, []string{"MySQL (process 3)"}, ""},
		"a link":        {[]host.Database{server("postgresql", 1, known(link))}, here, false, []string{"on the same device", "does not use", "symbolic link"}, ""},
		"gone":          {[]host.Database{server("postgresql", 1, known(real+"/none"))}, here, false, []string{"(does not exist)"}, "another device"},
		"not to be had": {[]host.Database{server("postgresql", 1, denied)}, here, false, []string{"on the device of " + filepath.Dir(wal), "is not known (not allowed to look)"}, "the log of PostgreSQL (process 1) may be on another device than"},
		"a container":   {[]host.Database{server("postgresql", 1, known("/proc/1/root/wal"))}, here, false, []string{"it is in a container"}, "?"},
		"elsewhere":     {[]host.Database{{Kind: "oracle", PID: 1, LogDir: known("/proc/none")}}, here, false, []string{"the current directory, because"}, "the log of Oracle (process 1) may be on another device"},
	} {
		got := findLog(host.Tree{}, c.servers, here, cpu)
		if got.dir != c.dir || got.found != c.found || c.wrong != "?" && (got.wrong == "") != (c.wrong == "") || c.wrong != "?" && !strings.Contains(got.wrong, c.wrong) {
			t.Errorf("%s: %+v", name, got)
		}
		for _, s := range c.why {
			if !strings.Contains(got.why, s) {
				t.Errorf("%s: why is %q, want %q", name, got.why, s)
			}
		}
	}
}

// TestLogOfTheWatched: commits are timed where the database that is watched has its log.
func TestLogOfTheWatched(t *testing.T) {
	facts := &host.Facts{Databases: []host.Database{{Kind: "mariadb", PID: 8}, {Kind: "postgresql", PID: 9}}}
	for pid, found := range map[int]bool{9: true, 7: false, 0: false} {
		of := &service.Service{PID: pid}
		if got := of.Server(facts.Databases); (got != nil) != found || found && got.PID != pid {
			t.Errorf("process %d: %+v", pid, got)
		}
	}
}
