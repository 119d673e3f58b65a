package setting

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"hostlab/internal/testkit"
)

// A kill before a write began leaves nothing that is ours; what another program has set meanwhile stays, and is named.
func TestForeignWithinACutSet(t *testing.T) {
	m := newMachine(1)
	whole := leave(t, m)
	m.kernel = newKernel()
	m.files[swappinessFile] = "77"
	m.disk["/j/"+journalFile].data = bytes.Join(bytes.SplitAfter(whole, []byte("\n"))[:2], nil)
	sys := m.system()
	j, err := OpenJournal(sys, "/j")
	if err != nil || j.Trouble().Kind != Unended {
		t.Fatal(err, trouble(&j.View))
	}
	out, err := Revert(context.Background(), sys, j, "", ReachOurs)
	if err != nil || len(out) != 1 || out[0].Result != Foreign || out[0].Reason != incomplete {
		t.Fatalf("%+v, %v", out, err)
	}
	testkit.Is(t, "77", m.files[swappinessFile], "swappiness")
}

// A set that was killed has no end, also after its journal was rewritten; one that went well, failed and
// was undone, or was put back in part has one.
func TestUnended(t *testing.T) {
	m := newMachine(1)
	want := func(when string, unended bool) {
		t.Helper()
		v, err := Look(m.system(), "/j")
		if err != nil || (v.Trouble() != nil) != unended || unended && v.Trouble().Kind != Unended {
			t.Errorf("%s: %v, %v", when, v.Trouble(), err)
		}
	}
	leave(t, m, Assignment{"swappiness", "", "10"})
	want("set", false)
	if !betweenSets(t, m.disk["/j/"+journalFile].data) {
		t.Error("its last line ends no set")
	}
	testkit.OK(t, m.store(swappinessFile, "77"))
	testkit.OK(t, putBackAll(m)) // which leaves another program's
	want("put back in part", false)
	m.system()
	if died, err := m.process(fate{}, func(sys *System) error {
		m.before = func(op, path string) {
			if op == "write" && path == policyDir(2)+"scaling_governor" {
				m.fate = fate{call: m.calls + 1}
			}
		}
		j, err := OpenJournal(sys, "/j")
		if err != nil {
			return err
		}
		p, err := NewPlan(sys, []Assignment{{"governor", "", "performance"}})
		if err == nil {
			_, err = Apply(context.Background(), sys, j, OwnerSet, p, false)
		}
		return errors.Join(err, j.Close())
	}); !died {
		t.Fatal(err)
	}
	m.before = nil
	want("killed", true)
	j, err := OpenJournal(m.system(), "/j")
	if err != nil || j.Trouble().Kind != Unended {
		t.Fatal(err)
	}
	testkit.OK(t, errors.Join(j.rewrite(), j.Close()))
	want("rewritten", true)
	m.kernel, m.boot = m.reboot(), m.boot+1
	want("forgotten by a reboot", false)
}

// betweenSets reports that the last whole line of a journal ends a set: such a cut cannot be seen.
func betweenSets(t *testing.T, journal []byte) bool {
	lines := bytes.Split(journal, []byte("\n"))
	if len(lines) < 2 {
		return false
	}
	_, e, err := decodeLine(lines[len(lines)-2])
	testkit.OK(t, err)
	_, ok := e.(*end)
	return ok
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

// An object has one owner: what one has changed, or its change has moved, another cannot change, and nothing is
// written. After a reboot it is free.
func TestOneOwner(t *testing.T) {
	b := newBench(t)
	b.must("set", "swappiness=10", "governor=performance", "max_freq=2GHz")
	b.m.writes = nil
	for _, want := range []string{"swappiness=1", "governor@policy0=powersave", "min_freq=2GHz"} {
		_, err := b.apply("/exp", true, "thp=never", want)
		owned, ok := errors.AsType[*Owned](err)
		if !ok || owned.Owner != "set" || len(b.m.writes) > 0 {
			t.Errorf("%s: %v, wrote %q", want, err, b.m.writes)
		}
	}
	b.must("/exp", "thp=never")
	b.revert("set", ReachOurs)
	b.value(swappinessFile, "60")
	b.value(thpFile, "never")
	b.must("/exp", "swappiness=1")
	b.m.kernel, b.m.boot = b.m.reboot(), 2
	b.m.locked = false
	b.open()
	b.must("set", "swappiness=10")
	b.revert("", ReachOurs)
	b.value(swappinessFile, "33")
}
