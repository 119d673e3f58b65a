//go:build system

package setting

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/testkit"
)

// A journal that is cut anywhere but between two of its sets is never taken for one of a host on which nothing
// is changed: each object is put back or named, or lines are known to be missing. What the whole sets before
// the cut have changed is put back always.
func TestCutAnywhere(t *testing.T) {
	swappiness, thp := Assignment{"swappiness", "", "10"}, Assignment{"thp", "", "always"} // which raises min_free_kbytes
	three := func(t *testing.T, m *machine) {
		leave(t, m, swappiness)
		leave(t, m, thp)
		leave(t, m, Assignment{"swappiness", "", "20"})
	}
	for name, history := range map[string]func(*testing.T, *machine){
		"one set":                          func(t *testing.T, m *machine) { leave(t, m, swappiness, thp) },
		"a set of each of three processes": three,
		"rewritten": func(t *testing.T, m *machine) {
			three(t, m)
			j := testkit.Must(OpenJournal(m.system(), "/j"))(t)
			testkit.OK(t, errors.Join(j.rewrite(), j.Close()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(1)
			history(t, m)
			whole := m.disk["/j/"+journalFile].data
			if text, err := troubled(m.system()); err != nil || text != "" {
				t.Fatal(text, err)
			}
			count := map[string]int{}
			for at := range whole {
				m := newMachine(1)
				was := m.values()
				history(t, m)
				m.disk["/j/"+journalFile].data = slices.Clone(whole[:at])
				sys := m.system()
				j := testkit.Must(OpenJournal(sys, "/j"))(t)
				if j.Problem() != nil {
					count["lines known to be missing"]++
					continue
				}
				said := trouble(&j.View) != ""
				if !said && !betweenSets(t, whole[:at]) {
					t.Fatalf("cut at %d: nothing says so", at)
				}
				kept := map[string]bool{}
				for _, e := range j.Entries() {
					kept[e.Object.Path] = true
				}
				out := testkit.Must(Revert(context.Background(), sys, j, "", ReachOurs))(t)
				for _, o := range out {
					if o.Result == Restored {
						continue
					}
					count["objects named"]++
					kept[o.Path] = false
					// A whole set may have ended before another changed it again.
					if o.Reason != incomplete && (said || o.Result != Foreign) {
						t.Errorf("cut at %d: %s: %s", at, o.Path, o.Reason)
					}
				}
				now := m.values()
				for path, v := range was {
					if keep, known := kept[path]; now[path] != v && (keep || !known && name == "one set") {
						t.Errorf("cut at %d: %s is %s, was %s", at, path, now[path], v)
					}
				}
				switch {
				case cmp.Equal(was, now):
					count["all put back"]++
				case !said:
					count["between two sets"]++
				case name == "one set" && len(out) == 0:
					t.Errorf("cut at %d: nothing is named", at)
				}
			}
			if one := name == "one set"; one && count["between two sets"] > 0 || one && count["all put back"] == 0 {
				t.Error(count)
			}
			t.Logf("cut at each of %d bytes: %v", len(whole), count)
		})
	}
}

// TestSpoiledAnywhere: wherever a byte of the journal is spoiled, that is seen, and all that its other lines
// name is put back by force.
func TestSpoiledAnywhere(t *testing.T) {
	m := newMachine(1)
	leave(t, m)
	whole := slices.Clone(leave(t, m, Assignment{"dirty_ratio", "", "15"}))
	for i, was := range whole {
		spoiled := slices.Clone(whole)
		spoiled[i] = 'X'
		m.disk["/j/"+journalFile].data = spoiled
		if text, err := troubled(m.system()); err != nil || was != 'X' && text == "" {
			t.Errorf("byte %d, %q: %v", i, was, err)
		}
	}
}
