package setting

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A journal that is cut anywhere within its set is never taken for one of a host on which
// nothing is changed: each object is put back, or is named, or the journal is a problem.
func TestCutAnywhere(t *testing.T) {
	back, named, problems := 0, 0, 0
	want := []Assignment{{"swappiness", "", "10"}, {"thp", "", "always"}} // which raises min_free_kbytes
	whole := leave(t, newMachine(1), want...)
	for at := range whole {
		m := newMachine(1)
		was := m.values()
		leave(t, m, want...)
		m.disk["/j/"+journalFile].data = bytes.Clone(whole[:at])
		sys := m.system()
		j, err := OpenJournal(sys, "/j")
		if err != nil {
			t.Fatal(err)
		}
		if p := j.Problem(); p != nil {
			problems++
			if !p.Lost {
				t.Errorf("cut at %d: %v", at, p)
			}
			continue
		}
		out, err := Revert(context.Background(), sys, j, "", false)
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, o := range out {
			if o.Result != Restored {
				told = append(told, o.Object.Path)
				if !strings.Contains(o.Reason, "the journal ends within the set that") {
					t.Errorf("cut at %d: %s: %s", at, o.Object.Path, o.Reason)
				}
			}
		}
		now := m.values()
		for path, v := range was {
			switch {
			case now[path] == v:
			case slices.Contains(told, path):
				named++
			default:
				t.Errorf("cut at %d: %s is %s, was %s, and is not named", at, path, now[path], v)
			}
		}
		if cmp.Equal(was, now) {
			back++
		}
	}
	if back == 0 || named == 0 || problems == 0 {
		t.Errorf("%d put back, %d objects named, %d problems", back, named, problems)
	}
	t.Logf("cut at each of %d bytes: all put back %d times, %d objects named, %d problems", len(whole), back, named, problems)
}

// A kill before a write began leaves nothing to doubt; what another program has set meanwhile
// stays, and is named.
func TestForeignWithinACutSet(t *testing.T) {
	m := newMachine(1)
	whole := leave(t, m)
	m.kernel = newKernel()
	m.files[swappinessFile] = "77"
	lines := bytes.SplitAfter(whole, []byte("\n"))
	m.disk["/j/"+journalFile].data = bytes.Join(lines[:2], nil)
	sys := m.system()
	j, err := OpenJournal(sys, "/j")
	if err != nil || j.Cut() {
		t.Fatal(err, j.Cut())
	}
	out, err := Revert(context.Background(), sys, j, "", false)
	if err != nil || len(out) != 1 || out[0].Result != Foreign || out[0].Reason != "it reads 77, and read 60 before; the journal ends within the set that was to make it 10" {
		t.Fatalf("%+v, %v", out, err)
	}
	if v := m.files[swappinessFile]; v != "77" {
		t.Errorf("swappiness %s", v)
	}
}

// A journal of the first format, without ends of sets, is put back; where none of its
// writes is known to have begun, it is doubted as well.
func TestFirstFormat(t *testing.T) {
	first, err := os.ReadFile("testdata/format1.journal")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(first, []byte("\n"))
	for name, c := range map[string]struct {
		data []byte
		left int
	}{"whole": {first, 0}, "the intent alone": {bytes.Join(lines[:2], nil), 2}} {
		m := newMachine(1)
		was := m.values()
		leave(t, m)
		m.disk["/j/"+journalFile].data = c.data
		sys := m.system()
		j, err := OpenJournal(sys, "/j")
		if err != nil || j.Problem() != nil {
			t.Fatal(err, j.Problem())
		}
		out, err := Revert(context.Background(), sys, j, "", false)
		if err != nil {
			t.Fatal(err)
		}
		left := 0
		for _, o := range out {
			if o.Result != Restored {
				left++
			}
		}
		if left != c.left || left == 0 && !cmp.Equal(was, m.values()) {
			t.Errorf("%s: %d not put back, want %d: %+v", name, left, c.left, out)
		}
		if left == 0 && m.disk["/j/"+journalFile] != nil {
			t.Errorf("%s: the journal is still there", name)
		}
	}
}
