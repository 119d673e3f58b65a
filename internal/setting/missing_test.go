package setting

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// TestAMachineWithoutSettings: where there can be none, one reason stands for all.
func TestAMachineWithoutSettings(t *testing.T) {
	sys := recorded(t, "intel-core-cst")
	testkit.Must(must(t, "governor").Read(sys))(t)
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
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700),
			os.WriteFile(file, []byte("[none] mq-deadline\n"), 0o600)))
	}
	p, err := NewPlan(treeOf(t, root), []Assignment{{Name: "io_scheduler", Value: "mq-deadline"}})
	if err != nil || len(p.Steps) != 2 || p.Steps[0].Path != "/sys/block/*/queue/scheduler" || p.Steps[0].Name != "*" {
		t.Errorf("%+v, %v", p, err)
	}
}

// What has no other value here, or only one that the kernel refuses, cannot be set, although it is there.
func TestSettable(t *testing.T) {
	const clocks = "-- sys/devices/system/clocksource/clocksource0/current_clocksource --\ntsc\n-- " +
		"sys/devices/system/clocksource/clocksource0/available_clocksource --\n"
	const scheduler = "-- sys/block/sda/queue/scheduler --\n"
	for _, c := range []struct {
		name, archive, fixed string
	}{
		{"smt", "-- sys/devices/system/cpu/smt/control --\nnotsupported\n", "has no SMT"},
		{"smt", "-- sys/devices/system/cpu/smt/control --\nforceoff\n", "for good"},
		{"smt", "-- sys/devices/system/cpu/smt/control --\noff\n", ""},
		{"clocksource", clocks + "tsc\n", "nothing else"},
		{"clocksource", clocks + "tsc hpet\n", ""},
		{"io_scheduler", scheduler + "[none]\n", "nothing else"},
		{"io_scheduler", scheduler + "[none] mq-deadline\n", ""},
		{"swappiness", "-- proc/sys/vm/swappiness --\n60\n", ""},
	} {
		states, err := must(t, c.name).Read(treeOf(t, testkit.Unpack(t, host.ExtractArchive, c.archive)))
		if err != nil || len(states) != 1 {
			t.Fatalf("%s: %+v, %v", c.name, states, err)
		}
		if got := states[0].Fixed; !strings.Contains(got, c.fixed) || (got == "") != (c.fixed == "") ||
			Settable(states) != (c.fixed == "") {
			t.Errorf("%s of %s: fixed by %q, want %q", c.name, c.archive, got, c.fixed)
		}
	}
}
