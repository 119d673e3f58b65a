//go:build system

package setting

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A journal that is cut anywhere, between its sets too, is never taken for one of a host on
// which nothing is changed: each object is put back, or is named, or the journal is a problem.
// That it was cut is said each time, with its marks and without.
func TestCutAnywhere(t *testing.T) {
	for _, marks := range []string{"", " and no marks"} {
		cutAnywhere(t, marks)
	}
}

func cutAnywhere(t *testing.T, marks string) {
	swappiness, thp := []Assignment{{"swappiness", "", "10"}}, []Assignment{{"thp", "", "always"}} // which raises min_free_kbytes
	for name, history := range map[string]func(*testing.T, *machine){
		"one set": func(t *testing.T, m *machine) { leave(t, m, swappiness[0], thp[0]) },
		"a set of each of three processes": func(t *testing.T, m *machine) {
			leave(t, m, swappiness...)
			leave(t, m, thp...)
			leave(t, m, Assignment{"swappiness", "", "20"})
		},
		"two sets, then rewritten": func(t *testing.T, m *machine) {
			leave(t, m, swappiness...)
			leave(t, m, thp...)
			j, err := OpenJournal(m.system(), "/j")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(j.rewrite(), j.Close()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name+marks, func(t *testing.T) {
			back, named, lost, missing := 0, 0, 0, 0
			m := newMachine(1)
			history(t, m)
			whole := m.disk["/j/"+journalFile].data
			if j, err := OpenJournal(m.system(), "/j"); err != nil || j.Problem() != nil || trouble(&j.View)+trouble(&j.View) != "" {
				t.Fatal(err, j.Problem(), trouble(&j.View), trouble(&j.View))
			}
			for at := range whole {
				m := newMachine(1)
				was := m.values()
				history(t, m)
				if marks != "" {
					delete(m.disk, "/j/"+marksFile)
				}
				// The ID of a journal is another one each time, and as long.
				data := m.disk["/j/"+journalFile].data
				m.disk["/j/"+journalFile].data = data[:at]
				sys := m.system()
				j, err := OpenJournal(sys, "/j")
				if err != nil {
					t.Fatal(err)
				}
				if p := j.Problem(); p != nil && p.Kind == Lost {
					lost++
					continue
				} else if p != nil {
					missing++
					for path, v := range m.values() {
						name := strings.Replace(path, "transparent_hugepage/enabled", "thp", 1)
						if v != was[path] && !strings.Contains(p.Error(), filepath.Base(name)) && (marks == "" || !strings.Contains(p.Error(), "Nothing names")) {
							t.Errorf("cut at %d: %s is not named: %v", at, path, p)
						}
					}
					continue
				}
				if trouble(&j.View)+trouble(&j.View) == "" {
					t.Fatalf("cut at %d: nothing says so", at)
				}
				gone := strings.Contains(trouble(&j.View), "the journal is missing the file that counts its lines")
				out, err := Revert(context.Background(), sys, j, "", ReachOurs)
				if err != nil {
					t.Fatal(err)
				}
				var told []string
				for _, o := range out {
					if o.Result != Restored {
						told = append(told, o.Path)
						if o.Reason != incomplete && !strings.HasPrefix(o.Reason, "the journal ends within a 'hostlab set' that") {
							t.Errorf("cut at %d: %s: %s", at, o.Path, o.Reason)
						}
					}
				}
				now := m.values()
				for path, v := range was {
					switch {
					case now[path] == v:
					case slices.Contains(told, path):
						named++
					case gone || marks != "" && len(told) > 0: // what a later set has changed, nothing names
						named++
					default:
						t.Errorf("cut at %d: %s is %s, was %s, and is not named", at, path, now[path], v)
					}
				}
				if cmp.Equal(was, now) {
					back++
				}
			}
			one := name == "one set"
			if lost == 0 || marks == "" && (missing == 0) != one || one && (back == 0 || named == 0) {
				t.Errorf("%d put back, %d objects named, %d without any line, %d with lines that are known to be missing", back, named, lost, missing)
			}
			t.Logf("cut at each of %d bytes: all put back %d times, %d objects named, %d without any line, %d with lines that are known to be missing", len(whole), back, named, lost, missing)
		})
	}
}
