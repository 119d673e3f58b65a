//go:build system

package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/privatedb"
	"hostlab/internal/testkit"
	"hostlab/internal/workload/logcommit"
)

// Beside a server that runs, commits go to its log directory, a link in its data
// directory, and leave nothing there, also where root looks into another account's.
func TestLogOfRunningServer(t *testing.T) {
	data, wal := serverDir(t), serverDir(t)
	s := testkit.Must(privatedb.Start(t.Context(), privatedb.PostgreSQL, privatedb.Config{Parent: data, LogDir: wal}))(t)
	defer s.Close()
	servers := slices.DeleteFunc(host.Collect(t.Context(), host.Options{}).Databases, func(d host.Database) bool {
		return !strings.HasPrefix(d.DataDir.Or(""), data)
	})
	if len(servers) != 1 {
		t.Fatalf("servers below %s: %+v", data, servers)
	}
	got := findLog(host.Tree{}, servers[0])
	if !got.found || !strings.HasPrefix(got.dir, wal) || got.wrong != "" {
		t.Fatalf("%+v, want below %s", got, wal)
	}
	before := list(t, got.dir)
	cfg := logcommit.DefaultConfig(got.dir)
	cfg.NoLinks = true
	l := testkit.Must(logcommit.Open(cfg))(t)
	if _, err := l.Commit(); err != nil {
		t.Error(err)
	}
	if during := list(t, got.dir); !slices.Equal(before, during) {
		t.Errorf("before %q, meanwhile %q", before, during)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// serverDir is a directory that the server's account may reach.
func serverDir(t *testing.T) string {
	t.Helper()
	dir := testkit.Must(os.MkdirTemp("/var/tmp", "hostlab-test-"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	dir = testkit.Must(filepath.EvalSymlinks(dir))(t)
	return dir
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries := testkit.Must(os.ReadDir(dir))(t)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
