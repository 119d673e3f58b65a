package settings

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/setting"
	"hostlab/internal/testkit"
)

// The unit's commands raise what is lower, and leave what is higher, also of numbers that a shell cannot compute with.
func TestTheUnitOnlyRaises(t *testing.T) {
	for _, c := range []struct{ has, wants, then string }{
		{"65530", "1048576", "1048576"}, {"2147483647", "1048576", "2147483647"}, {"1048576", "1048576", "1048576"},
		{"18446744073709551615", "1048576", "18446744073709551615"},
		{"1048576", "18446744073709551615", "18446744073709551615"},
		{"9223372036854775808", "9223372036854775809", "9223372036854775809"}, {"999", "1000", "1000"},
		{"250 2048000000 100 128", "32000 1024000000 500 32000", "32000 2048000000 500 32000"},
	} {
		for range 2 { // the second time changes nothing
			p, err := Make("systemd", Head{Title: "t"}, []setting.Assignment{asked("sem", "", c.wants)})
			if err != nil || len(p.Files) != 1 {
				t.Fatal(p, err)
			}
			_, line, _ := strings.Cut(p.Files[0].Text, "ExecStart=")
			line, _, _ = strings.Cut(line, "\n")
			file := filepath.Join(t.TempDir(), "sem")
			testkit.OK(t, os.WriteFile(file, []byte(c.has+"\n"), 0o600))
			// systemd makes one $ of two and splits at blanks outside of quotes, as a shell does.
			line = strings.ReplaceAll(strings.ReplaceAll(line, "$$", "$"), "/proc/sys/kernel/sem", file)
			if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
			got, err := os.ReadFile(file)
			if err != nil || strings.TrimSpace(string(got)) != c.then {
				t.Errorf("%s and %s make %q, not %s (%v)", c.has, c.wants, got, c.then, err)
			}
			c.has = c.then
		}
	}
}

// A host without one of the files gets the lines below all the same, and no file of that name.
func TestTheUnitGoesOnWithoutAFile(t *testing.T) {
	p := testkit.Must(Make("systemd", Head{Title: "t"}, []setting.Assignment{asked("sem", "", "250 32000 100 128")}))(t)
	_, line, _ := strings.Cut(p.Files[0].Text, "ExecStart=")
	line, _, _ = strings.Cut(line, "\n")
	file := filepath.Join(t.TempDir(), "sem")
	line = strings.ReplaceAll(strings.ReplaceAll(line, "$$", "$"), "/proc/sys/kernel/sem", file)
	if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
	testkit.Refused(os.Stat(file))(t, "", "the line made the file")
}

// What is a module's parameter goes where it is found when the module is loaded, and is never raised above what was
// asked for.
func TestAModulesParameter(t *testing.T) {
	const option = "tcp_max_slot_table_entries=128"
	for target, want := range map[string]string{"systemd": "options sunrpc " + option,
		"tuned": "[modules]\nsunrpc=" + option} {
		p := testkit.Must(Make(target, Head{Title: "t"}, []setting.Assignment{asked("tcp_max_slot_table_entries", "", "128")}))(t)
		f := p.Files[0]
		if len(p.Files) != 1 || !strings.Contains(f.Text, want+"\n") || target == "systemd" &&
			f.Path != "modprobe.d/hostlab.conf" {
			t.Errorf("%s writes %+v, expected %q alone", target, p.Files, want)
		}
	}
}
