package setting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Marks are no reason for an alarm where the journal is whole: those of another journal, a
// torn one, one of an earlier length, and those behind what a full disk has left.
func TestMarksWithoutAlarm(t *testing.T) {
	for name, change := range map[string]func(j, marks *inode){
		"binary":           func(_, marks *inode) { marks.data = append(marks.data, 0, 1, 2, 3) },
		"another's":        func(_, marks *inode) { marks.data = append(leaveMarks(t), marks.data...) },
		"a torn last line": func(j, _ *inode) { j.data = j.data[:len(j.data)-2] },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(1)
			was := m.values()
			leave(t, m)
			change(m.disk["/j/"+journalFile], m.disk["/j/"+marksFile])
			leave(t, m, Assignment{"swappiness", "", "20"}) // goes on after it
			sys := m.system()
			j, err := OpenJournal(sys, "/j")
			if err != nil || j.Problem() != nil {
				t.Fatal(err, j.Problem())
			}
			if _, err := Revert(context.Background(), sys, j, "", ReachOurs); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(was, m.values()); diff != "" || len(m.disk) > 0 {
				t.Error(diff, m.disk)
			}
		})
	}
}

// leaveMarks are those of another journal.
func leaveMarks(t *testing.T) []byte {
	m := newMachine(2)
	leave(t, m)
	return m.disk["/j/"+marksFile].data
}

// Without its marks a journal is not complete: a set may be missing at its end. What it names is put
// back, and it fails until the user gives that up.
func TestMarksGone(t *testing.T) {
	for name, change := range map[string]func(m *machine){
		"no file":     func(m *machine) { delete(m.disk, "/j/"+marksFile) },
		"empty":       func(m *machine) { m.disk["/j/"+marksFile].data = nil },
		"a torn mark": func(m *machine) { marks := m.disk["/j/"+marksFile]; marks.data = marks.data[:len(marks.data)-2] },
		"another's":   func(m *machine) { m.disk["/j/"+marksFile].data = leaveMarks(t) },
		"and a set": func(m *machine) {
			j, first := m.disk["/j/"+journalFile], len(m.disk["/j/"+journalFile].data)
			leave(t, m, Assignment{"swappiness", "", "20"})
			j.data = j.data[:first]
			delete(m.disk, "/j/"+marksFile)
			m.files[swappinessFile] = "10"
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(1)
			was := m.values()
			leave(t, m)
			change(m)
			for _, when := range []string{"at first", "put back", "put back again"} {
				if text, err := troubled(m.system()); err != nil || !strings.Contains(text, "the journal is missing the file that counts its lines") {
					t.Errorf("%s: %q, %v", when, text, err)
				}
				if err := putBackAll(m); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(was, m.values()); diff != "" {
				t.Error(diff)
			}
			if forget(t, m); len(m.disk) > 0 {
				t.Error(m.disk)
			}
		})
	}
}

// A set behind a mark that was torn is marked as well.
func TestMarkBehindAPiece(t *testing.T) {
	m := newMachine(1)
	first := len(leave(t, m, Assignment{"swappiness", "", "10"}))
	m.disk["/j/"+marksFile].data = append(m.disk["/j/"+marksFile].data, `{"crc":"12`...)
	leave(t, m, Assignment{"thp", "", "never"})
	m.disk["/j/"+journalFile].data = m.disk["/j/"+journalFile].data[:first]
	_, err := pending(m.system(), "/j")
	if p, ok := errors.AsType[*Problem](err); !ok || !slices.Contains(p.Names, "thp (what it was is lost)") {
		t.Errorf("%v", err)
	}
}

// A journal of a hostlab without marks gets them with its next set.
func TestMarksForAnOlderJournal(t *testing.T) {
	m := newMachine(1)
	lines := bytes.SplitAfter(leave(t, m, Assignment{"swappiness", "", "10"}), []byte("\n"))
	head, err := encodeRecord(&record{N: 1, Kind: "head", Format: 2, Host: "host"})
	if err != nil {
		t.Fatal(err)
	}
	lines[0] = head
	m.disk["/j/"+journalFile].data = bytes.Join(lines, nil)
	if list, err := pending(m.system(), "/j"); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	leave(t, m, Assignment{"thp", "", "never"})
	b := m.disk["/j/"+journalFile]
	b.data = bytes.Join(bytes.SplitAfter(b.data, []byte("\n"))[:2], nil) // head, swappiness
	if _, err := pending(m.system(), "/j"); err == nil || !strings.Contains(err.Error(), "thp") {
		t.Errorf("%v", err)
	}
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
	if err != nil || j.Trouble().Kind != Unended {
		t.Fatal(err, trouble(&j.View))
	}
	out, err := Revert(context.Background(), sys, j, "", ReachOurs)
	if err != nil || len(out) != 1 || out[0].Result != Foreign || out[0].Reason != "the journal ends within a 'hostlab set' that was to write 10; it read 60 before" {
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
		out, err := Revert(context.Background(), sys, j, "", ReachOurs)
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

// A journal of the second format, whose sets have no end when they went well, is no damage, and is put back;
// with the next set it is one of this format.
func TestSecondFormat(t *testing.T) {
	for _, more := range []bool{false, true} {
		m := newMachine(1)
		was := m.values()
		leave(t, m)
		for file, old := range map[string]string{journalFile: "testdata/format2.journal", marksFile: "testdata/format2.marks"} {
			b, err := os.ReadFile(old)
			if err != nil {
				t.Fatal(err)
			}
			m.disk["/j/"+file].data = b
		}
		if more {
			b := leave(t, m, Assignment{"swappiness", "", "20"})
			if st, _, problem := replay(b); problem != nil || st.format != format || len(st.objects) != 3 {
				t.Errorf("%+v, %v", st, problem)
			}
		}
		j, err := OpenJournal(m.system(), "/j")
		if err != nil || j.Problem() != nil || trouble(&j.View)+trouble(&j.View) != "" {
			t.Fatal(err, j.Problem(), trouble(&j.View), trouble(&j.View))
		}
		if err := errors.Join(j.Close(), putBackAll(m)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(was, m.values()); diff != "" || len(m.disk) > 0 {
			t.Error(diff, m.disk)
		}
	}
}

// A set that was killed has no end, also after its journal was rewritten; one that went well, failed and
// was undone, or was put back in part has one.
func TestUnended(t *testing.T) {
	m := newMachine(1)
	want := func(when string, text string) {
		t.Helper()
		if got, err := troubled(m.system()); err != nil || text == "" && got != "" || !strings.Contains(got, text) {
			t.Errorf("%s: %q, %v", when, got, err)
		}
	}
	last := func() string {
		lines := bytes.Split(bytes.TrimSpace(m.disk["/j/"+journalFile].data), []byte("\n"))
		r, err := decodeRecord(lines[len(lines)-1])
		if err != nil {
			t.Fatal(err)
		}
		return r.Kind
	}
	leave(t, m, Assignment{"swappiness", "", "10"})
	want("set", "")
	if kind := last(); kind != "end" {
		t.Errorf("its last line is of kind %s", kind)
	}
	if err := m.store(swappinessFile, "77"); err != nil {
		t.Fatal(err)
	}
	if err := putBackAll(m); err != nil { // which leaves another program's
		t.Fatal(err)
	}
	want("put back in part", "")
	sets := func(sys *System) error {
		j, err := OpenJournal(sys, "/j")
		if err != nil {
			return err
		}
		p, err := NewPlan(sys, []Assignment{{"governor", "", "performance"}})
		if err == nil {
			_, err = Apply(context.Background(), sys, j, "set", p, false)
		}
		return errors.Join(err, j.Close())
	}
	m.system()
	if died, err := m.process(fate{}, func(sys *System) error {
		m.before = func(op, path string) {
			if op == "write" && path == policyDir(2)+"scaling_governor" {
				m.fate = fate{call: m.calls + 1}
			}
		}
		return sets(sys)
	}); !died {
		t.Fatal(err)
	}
	m.before = nil
	const names = "the last set of changes has no end: hostlab is still writing it, was killed, or the journal was cut; it names what may still be changed: epp of policy0 ("
	want("killed", names)
	j, err := OpenJournal(m.system(), "/j")
	if err != nil || !strings.Contains(trouble(&j.View), names) {
		t.Fatal(err)
	}
	if err := errors.Join(j.rewrite(), j.Close()); err != nil {
		t.Fatal(err)
	}
	want("rewritten", names)
	m.kernel, m.boot = m.reboot(), m.boot+1
	want("forgotten by a reboot", "")
}

// A journal that is gone while its marks are there is damage that names the settings; forgetting ends it.
func TestJournalGone(t *testing.T) {
	m := newMachine(1)
	leave(t, m, Assignment{"swappiness", "", "10"})
	delete(m.disk, "/j/"+journalFile)
	for name, look := range map[string]func() error{
		"pending": func() error { _, err := pending(m.system(), "/j"); return err },
		"verify":  func() error { _, err := verify(m.system()); return err },
		"revert":  func() error { return putBackAll(m) },
	} {
		if err := look(); err == nil || !strings.Contains(err.Error(),
			"the journal is gone, but hostlab did not remove it; the list of changes beside it names what may still be changed: swappiness") {
			t.Errorf("%s: %v", name, err)
		}
	}
	forget(t, m)
	if err := putBackAll(m); err != nil || len(m.disk) > 0 {
		t.Error(err, m.disk)
	}
}

// putBackAll opens the journal and reverts.
func putBackAll(m *machine) error {
	j, err := OpenJournal(m.system(), "/j")
	if err != nil {
		return err
	}
	_, err = Revert(context.Background(), m.system(), j, "", ReachOurs)
	return errors.Join(err, j.Close())
}

func forget(t *testing.T, m *machine) {
	t.Helper()
	j, err := OpenJournal(m.system(), "/j")
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Forget("")
	if err := errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
}

// Clearing the journal is no loss of it: no kill or power cut in it leaves marks without their journal,
// and no reader without a lock sees such.
func TestClearIsNoDamage(t *testing.T) {
	// Errors of the look itself come from a journal that was cut by the power, which is not meant here.
	for call := 1; call < 60; call++ {
		for variant := range 4 {
			m := newMachine(uint64(call))
			leave(t, m, Assignment{"swappiness", "", "10"})
			start := m.calls
			at := fate{call: start + call, after: variant&1 != 0, cut: variant&2 != 0}
			m.before = func(string, string) {
				b, marks := m.disk["/j/"+journalFile], m.disk["/j/"+marksFile]
				if b == nil && marks != nil && len(marks.data) > 0 {
					t.Errorf("%+v: marks without their journal", at)
				}
			}
			_, err := m.process(at, putBack)
			m.before = nil
			if err != nil {
				t.Fatal(err)
			}
			if _, err := pending(m.system(), "/j"); err != nil {
				t.Errorf("%+v: %v", at, err)
			}
		}
	}
}

// What a cut journal lacks is known until the user gives it up: after it was put back, and after
// another set.
func TestDamageStays(t *testing.T) {
	m := newMachine(1)
	leave(t, m)
	lines := bytes.SplitAfter(m.disk["/j/"+journalFile].data, []byte("\n"))
	m.disk["/j/"+journalFile].data = bytes.Join(lines[:4], nil) // head, intend, go and done of the first
	known := func(when string) {
		t.Helper()
		if text, err := troubled(m.system()); err != nil || !strings.Contains(text, "the journal is cut off") {
			t.Errorf("%s: %q, %v", when, text, err)
		}
	}
	known("at first")
	for range 2 {
		if err := putBackAll(m); err != nil {
			t.Fatal(err)
		}
		known("put back")
	}
	leave(t, m, Assignment{"swappiness", "", "20"})
	known("after another set")
	if err := putBackAll(m); err != nil {
		t.Fatal(err)
	}
	known("put back again")
	forget(t, m)
	if text, err := troubled(m.system()); err != nil || text != "" || len(m.disk) > 0 {
		t.Errorf("%q, %v, %v", text, err, m.disk)
	}

	leave(t, m)
	m.disk["/j/"+journalFile].data = nil
	j, err := OpenJournal(m.system(), "/j")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Accept(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Close(), putBackAll(m)); err != nil {
		t.Fatal(err)
	}
	if text, err := troubled(m.system()); err != nil || !strings.Contains(text, "it is empty; the list of changes beside it names what may still be changed: min_free") || !strings.Contains(text, "kept as /j/") {
		t.Errorf("%q, %v", text, err)
	}
}

// TestSpoiledAnywhere: wherever a byte of the journal is spoiled, all that is changed is named or is still
// read, since marks stand in another file. Nothing of it left tells no less than no file.
func TestSpoiledAnywhere(t *testing.T) {
	m := newMachine(1)
	leave(t, m)
	whole := slices.Clone(leave(t, m, Assignment{"dirty_ratio", "", "15"}))
	changed := []string{"swappiness", "thp", "dirty_ratio"}
	check := func(what string, data []byte) {
		t.Helper()
		m.disk["/j/"+journalFile].data = data
		v, err := Look(m.system(), "/j")
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		text := trouble(v)
		for _, e := range v.Entries() {
			text += " " + e.Setting
		}
		for _, name := range changed {
			if !strings.Contains(text, name) {
				t.Errorf("%s: %s is not named: %q", what, name, text)
			}
		}
	}
	for i := range whole {
		spoiled := slices.Clone(whole)
		if spoiled[i] = 'X'; whole[i] != 'X' {
			check(fmt.Sprint("byte ", i), spoiled)
		}
	}
	check("empty", nil)
	check("NUL", make([]byte, len(whole)))
	check("cut in its head", whole[:40])
}
