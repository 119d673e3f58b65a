package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/assess"
	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

// What is looked at is found once: the service, the place of its log, and why one of them is not there.
func TestTarget(t *testing.T) {
	self, none := fmt.Sprint("pid:", os.Getpid()), filepath.Join(t.TempDir(), "none")
	for name, c := range map[string]struct {
		o        Options
		unusable string // an error in what was asked for
		of       bool   // a service is watched
		none     string // why no commit is timed
	}{
		"nothing":                {Options{Service: "none"}, "", false, "no service was watched"},
		"nothing without a host": {Options{Service: "none", OnlyService: true}, "no service to watch was found", false, ""},
		"bursts of nothing":      {Options{Service: "none", Bursts: true}, "and none is watched", false, ""},
		"a process":              {Options{Service: self}, "", true, "no log of the watched service"},
		"a process alone":        {Options{Service: self, OnlyService: true}, "", true, "the host was left out"},
		"no such process":        {Options{Service: "pid:99999999"}, "no process has the number", false, ""},
		"no directory":           {Options{Service: self, LogDir: none}, "does not exist", false, ""},
		"a directory not used":   {Options{Service: self, LogDir: none, OnlyService: true}, "", true, "the host was left out"},
	} {
		got, err := c.o.target(t.Context(), &host.Facts{})
		var unusable *Unusable
		if c.unusable != "" {
			if !errors.As(err, &unusable) || !strings.Contains(err.Error(), c.unusable) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || (got.of != nil) != c.of || !strings.Contains(got.log.none, c.none) || (c.none == "") != (got.log.none == "") {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
	}
}

// Of the service alone nothing is said of the host, and a saved assessment is read as it was.
func TestOnlyService(t *testing.T) {
	s := &Observed{Schema: Schema, Role: check.ProductionDB, OnlyService: true, Place: "/nowhere"}
	a := s.Assessment(host.Tree{}, &host.Facts{})
	if a.Facts != nil || a.Results != nil || len(a.Levers) != 0 || a.LogDir != "" {
		t.Errorf("%+v", a)
	}
}

// What a check finds on another server of the host comes last, and says so.
func TestOthersLast(t *testing.T) {
	server := func(pid int, log string) host.Database {
		return host.Database{Kind: "postgresql", PID: pid, LogDir: host.Known(log, "", "/proc"),
			OOMScoreAdj: host.Known[int64](0, "", "/proc")}
	}
	on := func(dir string, pid int, class string) host.Storage {
		return host.Storage{Path: dir, Purpose: "postgresql log", PID: pid, Class: host.Known(class, "", "mountinfo")}
	}
	facts := &host.Facts{Databases: []host.Database{server(306, "/dev/shm/wal"), server(307, "/srv/wal")},
		Storage: []host.Storage{on("/dev/shm/wal", 306, host.ClassMemory), on("/srv/wal", 307, host.ClassNVMe)}}
	for pid, first := range map[int]bool{306: true, 307: false, 8: false, 0: false} { // nginx, and the demo
		s := &Observed{Role: check.ProductionDB, Minute: &assess.Minute{Service: service.Service{PID: pid}}}
		a := s.Assessment(host.Tree{Root: t.TempDir()}, facts)
		found := a.found()
		testkit.Is(t, !first && pid > 300, found[len(found)-1].ID == "STO-006", pid)
		testkit.Is(t, pid < 300, a.whose("SRV-002") != "", pid)
		testkit.Is(t, first, a.whose("STO-006") == "", pid)
		for i := range a.Levers {
			if l := &a.Levers[i]; l.Name == lever.Log {
				testkit.Is(t, first, slices.Contains(l.Findings(), "STO-006"), pid)
			}
		}
	}
}
