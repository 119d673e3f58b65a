package export

import (
	"strings"
	"testing"

	"hostlab/internal/screen/screentest"
)

// A tool that has words for nothing of what was asked for gets no profile: one would look as if it did
// something.
func TestNothingToWrite(t *testing.T) {
	item := func(name, object, value string) Item { return Item{name, object, value} }
	for _, c := range []struct {
		target string
		items  []Item
		err    string
	}{
		{"powercfg", []Item{item("governor", "", "powersave")}, "powercfg has words for nothing of this: governor=powersave (Windows has power plans; only performance has a counterpart, High performance)"},
		{"dsc", []Item{item("swappiness", "", "10"), item("thp", "", "never"), item("governor", "", "ondemand")}, "dsc has words for nothing of this: "},
		{"systemd", []Item{item("max_freq", "", "60%")}, "systemd has words for nothing of this: max_freq=60% (" + differs + ")"},
		{"tuned", []Item{item("cpu_online", "", "0")}, "tuned has words for nothing of this: "},
		{"saptune", []Item{item("epb", "", "4")}, "saptune has words for nothing of this: "},
		{"powercfg", []Item{item("governor", "", "performance"), item("swappiness", "", "10")}, ""},
		{"systemd", []Item{item("max_freq", "", "60%"), item("cpu_dma_latency", "", "70")}, ""},
	} {
		p, err := Make(c.target, "t", c.items)
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
		for n, name := range screentest.Hostile {
			items := []Item{{"io_scheduler", name, "none"}}
			if n > 1 { // spaces are part of values, a dash of names
				items = append(items, Item{"io_scheduler", "", name}, Item{"governor", "policy" + name, "performance"}, Item{"sem", "", "1 " + name})
			}
			for _, i := range items {
				p, err := Make(target, "t", []Item{i, {"governor", "", "performance"}, {"max_perf_pct", "", "100"}})
				if err == nil || len(p.Files) > 0 || strings.ContainsAny(err.Error(), "\x1b\n\u009b") {
					t.Errorf("%s with %+q: %v, %+v", target, i, err, p.Files)
				}
			}
			if p, err := Make(target, name, []Item{{"governor", "", "performance"}}); err != nil || strings.ContainsAny(p.Files[0].Text, "\x1b\u009b\u202e") || strings.Contains(p.Files[0].Text, "\nmade") {
				t.Errorf("%s, title %q: %v, %q", target, name, err, p.Files)
			}
		}
	}
}
