package setting

import (
	"errors"
	"testing"
)

// TestAMachineWithoutSettings: where there can be none, one reason stands for all.
func TestAMachineWithoutSettings(t *testing.T) {
	sys := recorded(t, "intel-core-cst")
	if _, err := must(t, "governor").Read(sys); err != nil {
		t.Fatal(err)
	}
	sys.Missing = errors.New("none on this system")
	for _, s := range All() {
		if _, err := s.Read(sys); !errors.Is(err, sys.Missing) {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	p, err := NewPlan(sys, []Assignment{{Name: "governor", Value: "performance"}})
	if err != nil || len(p.Steps) != 0 || len(p.Skipped) != 1 || p.Skipped[0].Reason != "none on this system" {
		t.Errorf("%+v, %v", p, err)
	}
}

func must(t *testing.T, name string) Setting {
	t.Helper()
	s, ok := Find(name)
	if !ok {
		t.Fatalf("no setting %s", name)
	}
	return s
}
