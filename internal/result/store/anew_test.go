package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

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
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			r := again.Record()
			if string(r.Study) != "another study" || len(r.Runs)+len(r.Journal) > 0 || len(r.Warnings) != 1 || len(tree(t, dir)) != 4 {
				t.Errorf("%+v in %v", r, tree(t, dir))
			}
		})
	}
}
