//go:build system

package setting

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

// disks makes a machine of so many disks, each of which is an object.
func disks(n int) *machine {
	m := newMachine(1)
	for i := range n {
		m.files[fmt.Sprintf("/sys/block/sd%d/queue/nomerges", i)] = "0"
	}
	return m
}

// A set that would make the journal too large to be put back in seconds is refused before anything is
// written; the largest one that is not stays readable all the way, and is put back in time.
func TestLargestSet(t *testing.T) {
	want := []Assignment{{"nomerges", "", "2"}}
	try := func(n int) (*machine, error) {
		m := disks(n)
		sys := m.system()
		j := testkit.Must(OpenJournal(sys, "/j"))(t)
		p, err := NewPlan(sys, want)
		if err != nil || len(p.Steps) != n {
			t.Fatal(len(p.Steps), err)
		}
		_, err = Apply(context.Background(), sys, j, "set", p, false)
		return m, err
	}
	m, err := try(20_000)
	if err == nil || !strings.Contains(err.Error(),
		"20000 objects at once would make the journal /j/settings.journal larger than 6 MiB") || len(m.writes) > 0 ||
		len(m.disk) > 0 {
		t.Errorf("%v, %d writes, %d files", err, len(m.writes), len(m.disk))
	}
	m = testkit.Must(try(10_000))(t)
	// Processes put back, and are killed near the end.
	for disk := 13; disk > 10; disk-- {
		last := fmt.Sprintf("/sys/block/sd%d/queue/nomerges", disk)
		if died, err := m.process(fate{}, func(sys *System) error {
			m.before = func(op, path string) {
				if op == "write" && path == last {
					m.fate = fate{call: m.calls}
				}
			}
			return putBack(sys)
		}); !died {
			t.Fatal(err)
		}
		m.before = nil
		if n := len(m.disk["/j/"+journalFile].data); n > maxJournal {
			t.Fatalf("%d bytes", n)
		}
	}
	began := proc.Own()
	if err := putBackAll(m); err != nil || len(m.disk) > 0 || m.files["/sys/block/sd0/queue/nomerges"] != "0" {
		t.Error(err, len(m.disk))
	}
	if took := proc.Own() - began; took > 10 {
		t.Errorf("it took %.1f s of CPU time", took)
	}
}

// The largest journal that is accepted is put back in seconds; a larger one is refused.
func TestLargestJournal(t *testing.T) {
	const n = 20_500
	m := disks(n)
	in := &intend{Set: 1, Owner: "set", Boot: "boot1"}
	list := []event{&head{Format: format, Host: "host"}, in}
	two := "2"
	for i := range n {
		path := fmt.Sprintf("/sys/block/sd%d/queue/nomerges", i)
		m.files[path] = two
		in.Objects = append(in.Objects, planned{ID: i + 1, Setting: "nomerges", Name: fmt.Sprintf("sd%d", i), Path: path,
			From: "0", To: two})
		list = append(list, &begin{Set: 1, Path: path, To: two}, &done{Path: path, Read: &two})
	}
	b := testkit.Must(encodeLines(1, list))(t)
	if len(b) < maxJournal*9/10 || len(b) > maxJournal {
		t.Fatalf("%d bytes", len(b))
	}
	sys := m.system()
	m.disk["/j/"+journalFile] = &inode{data: b}
	began := proc.Own()
	if err := putBackAll(m); err != nil || len(m.disk) > 0 || m.files["/sys/block/sd1/queue/nomerges"] != "0" {
		t.Error(err, len(m.disk))
	}
	if took := proc.Own() - began; took > 10 {
		t.Errorf("it took %.1f s of CPU time", took)
	}
	dir := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, journalFile), append(b, make([]byte, maxJournal)...), 0o600))
	sys.Disk = Local(nil).Disk
	testkit.Refused(pending(sys, dir))(t, "larger than 7 MiB")
}
