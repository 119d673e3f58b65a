package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/lockfile"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// sample is an experiment of two cells and as many blocks as asked for.
func sample(blocks int) *result.Experiment {
	x := &result.Experiment{
		Schema: result.SchemaVersion, ID: "id", Name: "sample", Started: time.Unix(1e9, 0).UTC(),
		Cells:     []result.Cell{{Levels: map[string]string{"f": "a"}}, {Levels: map[string]string{"f": "b"}}},
		Responses: []result.Response{{Name: "t", Unit: "s", Compare: result.Ratio, Primary: true}},
	}
	for b := range blocks {
		x.Blocks = append(x.Blocks, result.Block{Plots: [][]int{{b % 2, 1 - b%2}}, Seed: uint64(b)})
	}
	return x
}

// okRun is an OK run at a place of sample.
func okRun(block, slot int) result.Run {
	return result.Run{
		Block: block, Slot: slot, Cell: (block + slot) % 2, Attempt: 1, Status: result.OK,
		Start: time.Unix(1e9+int64(10*block+slot), 0).UTC(), Seconds: 1.5, Values: map[string]float64{"t": 0.25},
		Before: map[string]string{"f": "a"}, Conditions: map[string]float64{"foreign_cpu": 0.01},
	}
}

func create(t *testing.T, blocks int) (*Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a", "record")
	s := testkit.Must(Create(dir, sample(blocks), []byte("study\n")))(t)
	t.Cleanup(func() { s.Close() })
	return s, dir
}

func appendAll(t *testing.T, s *Store, runs ...result.Run) {
	t.Helper()
	for _, r := range runs {
		testkit.OK(t, s.Append(r))
	}
}

func TestRoundTrip(t *testing.T) {
	s, dir := create(t, 2)
	warm := okRun(0, 0)
	warm.Status = result.WarmUp
	void := okRun(0, 1)
	void.Status, void.Reason = result.Void, "throttled"
	again := okRun(0, 1)
	again.Attempt = 2
	runs := []result.Run{warm, okRun(0, 0), void, again, okRun(1, 0)}
	appendAll(t, s, runs...)
	entry := Entry{Op: Original, At: time.Unix(1e9, 0).UTC(), Factor: "f", Value: "a"}
	testkit.OK(t, s.Journal(entry))
	for i := range runs {
		runs[i].Seq = i
	}
	end := result.End{Reason: "looks", Blocks: 1, Runs: len(runs), At: time.Unix(2e9, 0).UTC()}
	testkit.OK(t, s.End(end))
	want := &Record{Dir: dir, Experiment: sample(2), Study: []byte("study\n"), Runs: runs, End: &end, Journal: []Entry{entry}}
	for _, got := range []*Record{s.Record(), mustLoad(t, dir)} {
		testkit.Same(t, want, got)
	}
	if changed := mustLoad(t, dir).Changed(); len(changed) != 1 || changed[0].Factor != "f" {
		t.Errorf("changed: %v", changed)
	}
}

func mustLoad(t *testing.T, dir string) *Record {
	t.Helper()
	return testkit.Must(Load(dir))(t)
}

func TestCreateRefuses(t *testing.T) {
	s, dir := create(t, 1)
	testkit.Refused(Create(dir, sample(2), nil))(t, "is running in", "over a record that is open")
	appendAll(t, s, okRun(0, 0))
	before := tree(t, dir)
	if _, err := Create(dir, sample(2), nil); !errors.Is(err, ErrExists) {
		t.Errorf("over a record that is open: %v", err)
	}
	s.Close()
	if _, err := Create(dir, sample(2), nil); !errors.Is(err, ErrExists) {
		t.Errorf("over a record: %v", err)
	}
	testkit.Same(t, before, tree(t, dir), "a refused Create changed the record")

	other := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(other, "thesis.tex"), nil, 0o600))
	testkit.Refused(Create(other, sample(1), nil))(t, "thesis.tex", "in a directory of others' files")
	testkit.Is(t, 1, len(tree(t, other)), "left behind")
	file := filepath.Join(other, "thesis.tex")
	testkit.Refused(Create(file, sample(1), nil))(t, "", "made a record of a file")

	// What a Create that was killed leaves is no record, and in nobody's way.
	torn := t.TempDir()
	for _, name := range []string{LockFile, studyFile, temporary(headFile)} {
		testkit.OK(t, os.WriteFile(filepath.Join(torn, name), []byte("{"), 0o600))
	}
	if _, err := Load(torn); !errors.Is(err, ErrNone) {
		t.Errorf("loading the leftovers: %v", err)
	}
	again := testkit.Must(Create(torn, sample(1), []byte("x")))(t)
	again.Close()
	mustLoad(t, torn)
}

// tree returns the content of all files of a directory but the lock.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	testkit.OK(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == LockFile {
			return err
		}
		b, err := os.ReadFile(path)
		out[d.Name()] = string(b)
		return err
	}))
	return out
}

func TestLock(t *testing.T) {
	s, dir := create(t, 1)
	_, err := Open(dir)
	busy, ok := errors.AsType[*lockfile.Busy](err)
	if !ok || busy.PID != os.Getpid() {
		t.Fatalf("opened twice: %v", err)
	}
	if want := fmt.Sprintf("another hostlab, pid %d, is running in %s", os.Getpid(), dir); !strings.Contains(err.Error(), want) {
		t.Errorf("got %q, want %q in it", err, want)
	}
	mustLoad(t, dir) // reading needs no lock
	testkit.OK(t, s.Close())
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	again := testkit.Must(Open(dir))(t)
	again.Close()
}

// A line that is being written is no damage.
func TestLoadWhileALineIsWritten(t *testing.T) {
	s, dir := create(t, 2)
	appendAll(t, s, okRun(0, 0))
	testkit.Must(s.runs.f.WriteString(`{"block":`))(t)
	if r := mustLoad(t, dir); len(r.Runs) != 1 || len(r.Warnings) != 0 {
		t.Errorf("%d runs, warnings %q", len(r.Runs), r.Warnings)
	}
	s.Close()
	if r := mustLoad(t, dir); len(r.Runs) != 1 || len(r.Warnings) != 1 {
		t.Errorf("after it was killed: %d runs, warnings %q", len(r.Runs), r.Warnings)
	}
}

func TestRunsMissing(t *testing.T) {
	for name, begin := range map[string]func(*Store) error{
		"ended":   func(s *Store) error { return s.End(result.End{Reason: "looks"}) },
		"begun":   func(s *Store) error { return s.Journal(Entry{Op: Started}) },
		"created": func(*Store) error { return nil }, // killed right then
	} {
		s, dir := create(t, 1)
		testkit.OK(t, begin(s))
		s.Close()
		testkit.OK(t, os.Remove(filepath.Join(dir, runsFile)))
		if _, err := Load(dir); (err == nil) != (name == "created") || err != nil && !strings.Contains(err.Error(), runsFile+" is missing") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Records are made, discarded and made again in one directory, and never have two
// owners.
func TestOneOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "record")
	var owners atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 30 {
				s, err := Create(dir, sample(1), nil)
				if err != nil {
					continue // another has it, or is just leaving
				}
				testkit.Is(t, 1, owners.Add(1), "owners")
				err = s.Append(okRun(0, 0))
				owners.Add(-1)
				if err := errors.Join(err, s.Discard()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}

// A record of which no run counts gives its place to the next, unless there is something to put back or to learn from, or a file
// of others.
func TestCreateAnew(t *testing.T) {
	failed := okRun(0, 0)
	failed.Status, failed.Reason, failed.Values = result.Failed, "no such file", nil
	warm := okRun(0, 0)
	warm.Status = result.WarmUp
	at := time.Unix(1e9, 0).UTC()
	for name, c := range map[string]struct {
		do   func(s *Store, dir string) error
		anew bool
	}{
		"no run":      {func(*Store, string) error { return nil }, true},
		"failed runs": {func(s *Store, _ string) error { return errors.Join(s.Append(warm), s.Append(failed)) }, true},
		"their output": {func(s *Store, _ string) error {
			out, err := s.Output()
			if err != nil {
				return err
			}
			defer out.Close()
			return errors.Join(s.Append(failed), out.WriteFile("run-0.txt", []byte("x"), 0o600))
		}, true},
		"a level that is back": {func(s *Store, _ string) error {
			return errors.Join(s.Journal(Entry{Op: Original, At: at, Factor: "f", Value: "a"}), s.Journal(Entry{Op: Restored, At: at, Factor: "f", Value: "a"}))
		}, true},
		"a level that is not": {func(s *Store, _ string) error {
			return s.Journal(Entry{Op: Original, At: at, Factor: "f", Value: "a"})
		}, false},
		"a level that waits": {func(s *Store, _ string) error {
			return s.Journal(Entry{Op: Pending, At: at, Factor: "f", Value: "a"})
		}, false},
		"a run that counts":  {func(s *Store, _ string) error { return errors.Join(s.Append(failed), s.Append(okRun(0, 1))) }, false},
		"an end":             {func(s *Store, _ string) error { return s.End(result.End{Reason: result.Harmed, At: at}) }, false},
		"a file of somebody": {func(_ *Store, dir string) error { return os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := create(t, 1)
			testkit.OK(t, c.do(s, dir))
			s.Close()
			before := tree(t, dir)
			testkit.Is(t, c.anew, (Vacant(dir) == nil), "vacant")
			again, err := Create(dir, sample(2), []byte("another study"))
			if !c.anew {
				if diff := cmp.Diff(before, tree(t, dir)); err == nil || diff != "" {
					t.Errorf("%v, changed: %s", err, diff)
				}
				return
			}
			testkit.OK(t, err)
			defer again.Close()
			r := again.Record()
			if string(r.Study) != "another study" || len(r.Runs)+len(r.Journal) > 0 || len(r.Warnings) != 1 || len(tree(t, dir)) != 4 {
				t.Errorf("%+v in %v", r, tree(t, dir))
			}
		})
	}
}

// ended is a record of four runs that has ended.
func ended(t *testing.T) (dir string, lines [][]byte) {
	t.Helper()
	s, dir := create(t, 2)
	appendAll(t, s, okRun(0, 0), okRun(0, 1), okRun(1, 0), okRun(1, 1))
	testkit.OK(t, s.End(result.End{Reason: "looks", Blocks: 2}))
	s.Close()
	data := testkit.Must(os.ReadFile(filepath.Join(dir, runsFile)))(t)
	return dir, bytes.SplitAfter(data, []byte("\n"))[:4]
}

// Lines that were lost or moved are told, whether the record has ended or not.
func TestLostLines(t *testing.T) {
	for name, c := range map[string]struct {
		keep  []int
		torn  string
		open  string // what is wrong with a record that has not ended; "": nothing that could be seen
		ended string
	}{
		"the first":        {keep: []int{1, 2, 3}, open: "runs.jsonl:1: has run 1 where run 0 should be", ended: "runs.jsonl:1: "},
		"one within":       {keep: []int{0, 2, 3}, open: "runs.jsonl:2: has run 2 where run 1 should be", ended: "runs.jsonl:2: "},
		"two are swapped":  {keep: []int{0, 2, 1, 3}, open: "runs.jsonl:2: has run 2 where run 1 should be", ended: "runs.jsonl:2: "},
		"the last":         {keep: []int{0, 1, 2}, ended: "has 3 whole lines, and ended.json counts 4"},
		"all":              {ended: "has 0 whole lines, and ended.json counts 4"},
		"all but a piece":  {torn: "{", ended: "has 0 whole lines, and ended.json counts 4"},
		"two, and a piece": {keep: []int{0, 1}, torn: `{"seq":2`, ended: "has 2 whole lines, and ended.json counts 4"},
		"a torn last one":  {keep: []int{0, 1, 2}, torn: `{"seq":3,"block`, ended: "has 3 whole lines, and ended.json counts 4"},
		"a piece too many": {keep: []int{0, 1, 2, 3}, torn: "{"},
		"none":             {keep: []int{0, 1, 2, 3}},
	} {
		for _, over := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", over), func(t *testing.T) {
				dir, lines := ended(t)
				var data []byte
				for _, i := range c.keep {
					data = append(data, lines[i]...)
				}
				testkit.OK(t, os.WriteFile(filepath.Join(dir, runsFile), append(data, c.torn...), 0o600))
				want := c.ended
				if !over {
					want = c.open
					testkit.OK(t, os.Remove(filepath.Join(dir, endFile)))
				}
				r, err := Load(dir)
				if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir)) {
					t.Fatalf("%v, want %q", err, want)
				}
				if err != nil {
					return
				}
				testkit.Is(t, over, r.End != nil, "ended")
			})
		}
	}
}
