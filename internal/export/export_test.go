package export

import (
	"strings"
	"testing"
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
