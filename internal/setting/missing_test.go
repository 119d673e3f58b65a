package setting

import (
	"errors"
	"os"
	"path/filepath"
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

// TestNamesAreNoPatterns: the name of a device is taken as it is, whatever it is made of.
func TestNamesAreNoPatterns(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"*", "sda"} {
		file := filepath.Join(root, "sys/block", name, "queue/scheduler")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("[none] mq-deadline\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := NewPlan(treeOf(t, root), []Assignment{{Name: "io_scheduler", Value: "mq-deadline"}})
	if err != nil || len(p.Steps) != 2 || p.Steps[0].Path != "/sys/block/*/queue/scheduler" || p.Steps[0].Name != "*" {
		t.Errorf("%+v, %v", p, err)
	}
}
