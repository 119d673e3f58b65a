package report

import (
	"os"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/service/demo"
	"hostlab/internal/testkit"
	"hostlab/internal/worker"
)

func TestMain(m *testing.M) {
	worker.Main(demo.Jobs())
	os.Exit(m.Run())
}

// Beside a database that runs here, the demo commits in a directory of its own, and in none of that one's.
func TestDemoBesideAnother(t *testing.T) {
	wal, own := t.TempDir(), t.TempDir()
	facts := &host.Facts{Databases: []host.Database{{Kind: "postgresql", PID: os.Getpid(),
		LogDir: host.Known(wal, "", "its file")}}}
	for _, o := range []Options{{Service: "demo", LogDir: own}, {Service: "demo"}} {
		t.Setenv("TMPDIR", own)
		got := testkit.Must(o.target(t.Context(), facts))(t)
		if got.log.dir != own || got.demo == nil {
			t.Errorf("%+v: commits are timed in %q", o, got.log.dir)
		}
		got.close()
		for _, dir := range []string{wal, own} {
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("in %s: %v", dir, left)
			}
		}
	}
}
