package store

import (
	"os"
	"testing"

	"golang.org/x/tools/txtar"

	"hostlab/internal/result"
)

// A record of the first version is read as it was, and can be opened to go on with.
func TestFirstVersion(t *testing.T) {
	a, err := txtar.ParseFile("testdata/first.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files, err := txtar.FS(a)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	r, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	x := r.Experiment
	if len(r.Runs) != 57 || r.End == nil || r.End.Reason != "looks" || len(r.Journal) != 4 || len(r.Changed()) != 0 || len(r.Warnings) != 0 {
		t.Errorf("%d runs, %+v, %+v, %q", len(r.Runs), r.End, r.Journal, r.Warnings)
	}
	if x.Name != "log-and-mode" || x.Design.Seed != 7 || len(x.Cells) != 7 || len(x.Blocks) != 8 || x.Factor("mode").Kind != "commands" {
		t.Errorf("%+v", x)
	}
	if slow, memory := x.Place("log", "delay"), x.Place("log", "tmpfs"); !slow.Emulated || slow.Volatile || memory.Emulated || !memory.Volatile || x.Place("log", "disk") != (result.Place{Factor: "log", Level: "disk"}) {
		t.Errorf("%+v %+v", slow, memory)
	}
	last := r.Runs[len(r.Runs)-1]
	if last.Status != result.OK || last.Values["wall"] <= 0 || last.Conditions["foreign_cpu"] < 0 || last.Start.IsZero() || last.Boot == "" {
		t.Errorf("%+v", last)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
