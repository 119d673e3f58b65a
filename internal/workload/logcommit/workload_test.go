package logcommit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"
)

func TestContract(t *testing.T) {
	workloadtest.Contract(t, Workload{}, workloadtest.Config{
		Params:     map[string]any{"count": int64(20), "size": "64KiB", "lead": int64(2)},
		Long:       map[string]any{"rate": 20.0, "count": int64(1000)},
		Operations: 20,
		Work: func(t *testing.T, s workload.Session, _ workload.Sample) any {
			log := s.(*session).log
			b := testkit.Must(contents(log))(t)
			return b[log.off-CommitBytes+8 : log.off-CommitBytes+512] // a sector of the last commit, but for its number
		},
		Stalled: func(t *testing.T, stall time.Duration) (workload.Session, workload.Request, float64) {
			const rate = 500
			v, err := workload.Check(Workload{}.Describe(),
				map[string]any{"rate": float64(rate), "arrivals": "even", "count": int64(250), "size": "64KiB"})
			if err != nil {
				t.Fatal(err)
			}
			s := &session{work: t.TempDir(), delay: func(n int) {
				if n == 20 {
					time.Sleep(stall)
				}
			}}
			return s, workload.Request{Params: v}, rate
		},
	})
}

func TestWorkloadDirectory(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		given map[string]any
		want  string
	}{
		"missing": {map[string]any{"dir": "no-such"}, "parameter dir: " + filepath.Join(base, "no-such") +
			": does not exist"},
		"a file":    {map[string]any{"dir": "file"}, "not a directory"},
		"odd bytes": {map[string]any{"size": int64(5000)}, "parameter size: 5000 is not a multiple of 4096"},
	} {
		v, err := workload.Check(Workload{}.Describe(), c.given)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Workload{}.Open(t.Context(), workload.Config{Params: v, Dir: base, Work: base})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "--log-dir") {
			t.Errorf("%s gave %v, want %q in it", name, err, c.want)
		}
	}
}

// A duration ends a run before its count is reached; levels of layout and size
// make the file anew.
func TestLevels(t *testing.T) {
	dir := t.TempDir()
	check := func(given map[string]any) workload.Params {
		t.Helper()
		return testkit.Must(workload.Check(Workload{}.Describe(), given))(t)
	}
	first := check(map[string]any{"count": int64(3)})
	s := testkit.Must(Workload{}.Open(t.Context(), workload.Config{Params: first, Dir: dir, Work: dir}))(t)
	defer s.Close()
	run := func(given map[string]any) workload.Sample {
		t.Helper()
		return testkit.Must(s.Run(t.Context(), workload.Request{Params: check(given)}))(t)
	}
	if got := run(map[string]any{"count": int64(3)}); got.Operations != 3 || got.Missing["p99"] == "" ||
		got.Values["p50"] <= 0 {
		t.Errorf("three commits: %+v", got)
	}
	if got := run(map[string]any{"count": int64(1000000), "duration": "500ms", "layout": "overwritten",
		"size": "32KiB"}); got.Operations == 1000000 || got.Operations == 0 {
		t.Errorf("%d commits in 500 ms", got.Operations)
	}
	mustBeEmpty(t, dir) // the file has no name
	if info, err := s.(*session).log.f.Stat(); err != nil || info.Size() != 32<<10 {
		t.Errorf("the file was not made anew: %v, %v", info, err)
	}
}
