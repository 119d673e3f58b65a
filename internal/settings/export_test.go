package settings

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/document"
	"hostlab/internal/setting"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/schemas"
)

// Every setting has words for every tool, or the reason why the tool has none.
func TestEverySettingIsExported(t *testing.T) {
	values := map[string]string{"cstate_latency": "70", "clocksource": "tsc", "smt": "on"}
	const numbers = "interrupts have other numbers after a boot"
	reasons := map[string][]string{
		"tuned": {numbers}, "systemd": {numbers},
		"saptune": {numbers, "it is in force only while a program holds /dev/cpu_dma_latency",
			"saptune takes single files, and this has one for each CPU, policy or disk", "saptune sets all CPUs alike"},
		"powercfg": {"Windows has no counterpart that a power plan holds", "Windows sets all processors alike"},
		"dsc":      {"Windows has no counterpart that a power plan holds", "Windows sets all processors alike"},
	}
	for _, s := range setting.All() {
		i := setting.Assignment{Name: s.Name, Value: values[s.Name]}
		for _, word := range []string{"performance", "never", "1", "100", "max", "8192", "1 2 3 4"} {
			if v, err := s.Spell(word); err == nil && i.Value == "" {
				i.Value = v
			}
		}
		if s.Name == "max_freq" || s.Name == "min_freq" {
			i.Value = "2400000"
		}
		if s.Name == "cpu_online" {
			i.Object = "cpu3"
		}
		for _, target := range targets {
			p := target.write(Head{Title: "t"}, prepare([]setting.Assignment{i}))
			text := ""
			for _, f := range p.Files {
				text += f.Text
			}
			why := ""
			if p.lacks.count() == 1 {
				why = p.lacks[0].why
			}
			word, has := s.Word(target.name)
			if target.name == "powercfg" || target.name == "dsc" {
				word, has = s.Word("windows")
			}
			switch {
			case why != "" && (has && why != word.Only || !has && !slices.Contains(reasons[target.name], why)):
				t.Errorf("%s has no words for %s=%s: %s", target.name, s.Name, i.Value, why)
			case why == "" && text == "":
				t.Errorf("%s says nothing of %s=%s", target.name, s.Name, i.Value)
			case why == "" && s.Sysctl != "" && !strings.Contains(text, s.Sysctl) && !strings.Contains(text, s.File+" ") &&
				(s.Module == "" || !strings.Contains(text, s.Name+"=")):
				t.Errorf("%s does not name %s", target.name, s.Sysctl)
			}
		}
	}
}

func asked(name, object, value string) setting.Assignment {
	return setting.Assignment{Name: name, Object: object, Value: value}
}

// A tool that has words for nothing of what was asked for gets no profile: one would look as if it did
// something.
func TestNothingToWrite(t *testing.T) {
	for _, c := range []struct {
		target string
		items  []setting.Assignment
		err    string
	}{
		{"powercfg", []setting.Assignment{asked("governor", "", "powersave")},
			"powercfg can express none of this: governor=powersave (Windows has power plans; only performance has a " +
				"counterpart, High performance)"},
		{"dsc", []setting.Assignment{asked("swappiness", "", "10"), asked("thp", "", "never"),
			asked("governor", "", "ondemand")}, "dsc can express none of this: "},
		{"systemd", []setting.Assignment{asked("max_freq", "", "60%")},
			"systemd can express none of this: max_freq=60% (it means another value on each processor; "},
		{"tuned", []setting.Assignment{asked("cpu_online", "", "0")}, "tuned can express none of this: "},
		{"saptune", []setting.Assignment{asked("epb", "", "4")}, "saptune can express none of this: "},
		{"powercfg", []setting.Assignment{asked("governor", "", "performance"), asked("swappiness", "", "10")}, ""},
		{"systemd", []setting.Assignment{asked("max_freq", "", "60%"), asked("cpu_dma_latency", "", "70")}, ""},
	} {
		p, err := Make(c.target, Head{Title: "t"}, c.items)
		switch {
		case c.err == "" && (err != nil || len(p.Files) == 0 || len(p.Missing) != 1):
			t.Errorf("%s: %v, %+v", c.target, err, p)
		case c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err) || len(p.Files) > 0):
			t.Errorf("%s: %v, want %s", c.target, err, c.err)
		}
	}
}

// Profiles are read by shells, udev and PowerShell, each with quotes of its own: a name that
// needs them gets no profile.
func TestHostileNamesAreRefused(t *testing.T) {
	for _, target := range Targets() {
		for n, name := range testkit.Hostile {
			items := []setting.Assignment{asked("io_scheduler", name, "none")}
			if n > 1 { // spaces are part of values, a dash of names
				items = append(items, asked("io_scheduler", "", name), asked("governor", "policy"+name, "performance"),
					asked("sem", "", "1 "+name))
			}
			for _, i := range items {
				p, err := Make(target, Head{Title: "t"}, []setting.Assignment{i, asked("governor", "", "performance"),
					asked("max_perf_pct", "", "100")})
				if err == nil || len(p.Files) > 0 || strings.ContainsAny(err.Error(), "\x1b\n\u009b") {
					t.Errorf("%s with %+q: %v, %+v", target, i, err, p.Files)
				}
			}
			if p, err := Make(target, Head{Title: name}, []setting.Assignment{asked("governor", "",
				"performance")}); err != nil || strings.ContainsAny(p.Files[0].Text, "\x1b\u009b\u202e") ||
				strings.Contains(p.Files[0].Text, "\nmade") {
				t.Errorf("%s, title %q: %v, %q", target, name, err, p.Files)
			}
		}
	}
}

// A profile for TuneD keeps what is active, and lowers no limit; without the names of disks it spares those that may
// rotate.
func TestTunedBuildsOnWhatIsThere(t *testing.T) {
	p := testkit.Must(Make("tuned", Head{Title: "t", Base: []string{"postgresql", "my-own"}},
		[]setting.Assignment{asked("max_map_count", "", "1048576"), asked("sem", "", "1 2 3 4"),
			asked("swappiness", "", "10"), asked("io_scheduler", "", "none")}))(t)
	for _, want := range []string{"\ninclude=postgresql,my-own\n", "\nvm.max_map_count=>1048576\n",
		"\nkernel.sem=1 2 3 4\n", "\nvm.swappiness=10\n",
		"\n[disk]\ndevices=nvme*,vd*,xvd*,mmcblk*\n"} {
		testkit.Has(t, p.Files[0].Text, want)
	}
	for _, name := range append(testkit.Hostile, "a b", "a;b") {
		if p, err := Make("tuned", Head{Title: "t", Base: []string{name}},
			[]setting.Assignment{asked("swappiness", "", "10")}); err == nil {
			t.Errorf("%q: %+v", name, p.Files)
		}
	}
}

func TestRulesSpareDisksThatRotate(t *testing.T) {
	p := testkit.Must(Make("systemd", Head{Title: "t"}, []setting.Assignment{asked("io_scheduler", "", "none"),
		asked("nomerges", "sda", "2")}))(t)
	var rules []string
	for line := range strings.Lines(p.Files[0].Text) {
		if strings.Contains(line, `queue/scheduler}="none"`) && !strings.Contains(line, `queue/rotational}=="0"`) &&
			!strings.Contains(line, `KERNEL=="vd*|xvd*"`) {
			t.Errorf("a rule for any disk: %s", line)
		}
		if strings.HasPrefix(line, "ACTION") {
			rules = append(rules, line)
		}
	}
	if len(rules) != 3 || !strings.Contains(rules[2], `KERNEL=="sda"`) {
		t.Errorf("%d rules: %q", len(rules), rules)
	}
}

// docs/schema/settings.schema.json describes what settings, set, verify and revert write as JSON.
func TestSchema(t *testing.T) {
	form := func(kind string) document.Head { return document.Head{Kind: kind, Schema: Schema} }
	schemas.Schema{Title: "Output of hostlab settings, set, verify and revert with --format json",
		Description: "settings prints what there is; set, verify and revert print what became of each object. Values are " +
			"the kernel's own text.",
		Forms: []any{All{Head: form("settings")}, Change{Head: form("change")}, Change{Head: form("verify")}},
		Words: map[reflect.Type][]any{reflect.TypeFor[Action](): {DoSet, DoVerify, DoRevert, Plan},
			reflect.TypeFor[setting.Result](): {setting.Changed, setting.Unchanged, setting.Rounded, setting.Restored,
				setting.Foreign, setting.Gone,
				setting.Forgotten, setting.Failed, setting.Moved, setting.Planned, setting.Same, setting.Skipped}},
	}.Equal(t, "settings.schema.json")
}

// TestWindowsNames holds the list to what the translation takes.
func TestWindowsNames(t *testing.T) {
	value := map[string]string{"governor": "performance", "epp": "performance", "boost": "1"}
	for _, s := range setting.All() {
		v := cmp.Or(value[s.Name], "100%")
		_, _, missing := windows(prepare([]setting.Assignment{{Name: s.Name, Value: v}}))
		listed := slices.Contains(WindowsNames(), s.Name)
		testkit.Is(t, (len(missing) == 0), listed, s.Name, "listed", "but", strings.Join(missing.lines(), "; "))
	}
	for _, name := range WindowsNames() {
		if _, ok := setting.Find(name); !ok {
			t.Errorf("there is no setting %s", name)
		}
	}
}
