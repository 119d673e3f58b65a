package runner

import (
	"path/filepath"
	"testing"

	"hostlab/internal/experiment"
	"hostlab/internal/result/store"
	"hostlab/internal/testkit"
)

// What a built-in study of a live service varies by --set, a resume, --restore and the guard vary too.
func TestRecordedLive(t *testing.T) {
	for _, set := range []map[string]string{{"server.work_mem": "8MB"}, {"setting.thp": "never"}, {}} {
		want := testkit.Must(experiment.Find("live-epp", experiment.Overrides{Set: set}, Known()))(t)
		dir := filepath.Join(t.TempDir(), "record")
		x := experiment.Head(want)
		x.File = filepath.Join(want.Dir, want.File)
		testkit.OK(t, testkit.Must(store.Create(dir, x, want.Source))(t).Close())
		got := testkit.Must(Recorded(dir, nil))(t)
		testkit.Is(t, experiment.Hash(want), experiment.Hash(got), set)
		testkit.Same(t, want.Factors, got.Factors)
		testkit.Same(t, want.Responses, got.Responses)
		testkit.Is(t, want.Title, got.Title, set)
	}
}
