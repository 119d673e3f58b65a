package runner

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hostlab/internal/result/store"
	"hostlab/internal/testkit"
)

// What a power cut leaves is found by whoever looks next, and put back without anybody's naming the record. One that
// runs has left nothing, and one that has ended neither.
func TestLeftByAPowerCut(t *testing.T) {
	b := newServed(t, steady)
	at := filepath.Join(t.TempDir(), "cut") // the record as the disk has it then
	found := func() []Left {
		t.Helper()
		list := testkit.Must(Leftovers())(t)
		return slices.DeleteFunc(list, func(l Left) bool { return !l.Ours })
	}
	watch := b.cfg.Watch
	b.cfg.Watch = func(p Progress) {
		watch(p)
		if level, err := os.ReadFile(filepath.Join(b.dir, "level")); err != nil || string(level) != "high\n" {
			return
		}
		if _, err := os.Stat(at); err == nil {
			return
		}
		if err := os.CopyFS(at, os.DirFS(b.cfg.Dir)); err != nil {
			t.Error(err)
		}
		if list, err := Registered(); err != nil || len(list) != 1 || list[0].Dir != b.cfg.Dir {
			t.Errorf("registered: %v %v", list, err)
		}
		if list := found(); len(list) > 0 {
			t.Errorf("of an experiment that runs: %v", list)
		}
	}
	testkit.OK(t, b.run())
	if list, err := Registered(); err != nil || len(list) > 0 {
		t.Fatalf("at the end: %v %v", list, err)
	}

	r := testkit.Must(registry(false))(t)
	e := b.record().Experiment
	testkit.OK(t, r.Add(store.Registered{ID: e.ID, Dir: at}))
	b.write("level", "high\n")
	if list := found(); len(list) != 1 || list[0].Dir != at || !slices.Equal(list[0].Factors, []string{"power"}) {
		t.Fatalf("after the cut: %v", list)
	}
	cfg := b.cfg
	cfg.Study, cfg.Dir, cfg.Watch = b.study, at, nil
	testkit.OK(t, Restore(t.Context(), cfg))
	b.putBack()
	if list, err := Registered(); err != nil || len(list) > 0 {
		t.Errorf("after the restore: %v %v", list, err)
	}

	testkit.OK(t, r.Add(store.Registered{ID: e.ID, Dir: filepath.Join(at, "gone")}))
	if list := found(); len(list) != 1 || !Gone(list[0].Unknown) {
		t.Errorf("a record that is gone: %v", list)
	}
	if err := Forget(e.ID); err != nil || len(found()) > 0 {
		t.Errorf("forgotten: %v %v", err, found())
	}
}
