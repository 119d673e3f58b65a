package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"hostlab/internal/setting"
)

// What root has set is verified by everybody: from the machine's journal, where their own says
// nothing.
func TestVerifyOfTheMachine(t *testing.T) {
	root, write := recordedTree(t, "intel-core-cst")
	sys := setting.Local(root)
	own, machine := filepath.Join(root, "own"), filepath.Join(root, "machine")
	verify := func() []setting.Outcome {
		t.Helper()
		list, err := verified(sys, own, machine)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	set := func(dir, name, value string) {
		t.Helper()
		p, err := setting.NewPlan(sys, []setting.Assignment{{Name: name, Value: value}})
		if err != nil {
			t.Fatal(err)
		}
		j, err := setting.OpenJournal(sys, dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := setting.Apply(context.Background(), sys, j, ownerSet, p, false); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if list := verify(); len(list) != 0 {
		t.Errorf("nothing is set, and yet %+v", list)
	}
	set(machine, "swappiness", "10")
	if list := verify(); len(list) != 1 || list[0].Setting != "swappiness" || list[0].Result != setting.Unchanged {
		t.Errorf("%+v", list)
	}
	write(swappiness, "77")
	if list := verify(); len(list) != 1 || list[0].Result != setting.Foreign {
		t.Errorf("%+v", list)
	}
	set(own, "thp", "madvise")
	if list := verify(); len(list) != 1 || list[0].Setting != "thp" {
		t.Errorf("%+v", list)
	}
	// A journal of one's own that is damaged is not passed over.
	if err := os.WriteFile(filepath.Join(own, "settings.journal"), []byte("x\ny\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := verified(sys, own, machine); !errors.As(err, new(*setting.Problem)) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%+v, %v", list, err)
	}
}
