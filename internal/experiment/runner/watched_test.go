package runner

import (
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/workload/observe"
)

// A database that was restarted is another process, and another database may be the busiest by then.
func TestPinned(t *testing.T) {
	in := func(pid int, dir string) host.Database {
		return host.Database{Kind: "postgresql", PID: pid, DataDir: host.Known(dir, "", "")}
	}
	params := &observe.Params{Service: "postgres"}
	servers := []host.Database{in(7, "/busy"), in(8, "/ours")}
	w, err := pinned(params, "postgresql in /ours", servers)
	if err != nil || named(w.params).Service != "pid:8" || params.Service != "postgres" {
		t.Errorf("%v, %v; the study's own %v", w, err, params)
	}
	if w, err := pinned(named(w.params), w.data, []host.Database{in(7, "/busy"), in(9, "/ours")}); err != nil ||
		named(w.params).Service != "pid:9" {
		t.Errorf("after a restart: %v, %v", w, err)
	}
	if w, err := pinned(params, "postgresql in /ours", servers[:1]); err == nil {
		t.Errorf("another database is taken: %v", w)
	}
}
