package experiment

import (
	"slices"
	"testing"

	"hostlab/internal/testkit"
)

const scheduler = `[study]
name = "t"
[[factor]]
name = "x"
setting = "io_scheduler"
levels = ["none", "kyber"]
[workload]
name = "null"
`

// The command line names another setting with its level, beside what is there.
func TestVary(t *testing.T) {
	parse := func(set map[string]string) (*Study, error) {
		return Parse("t.toml", t.TempDir(), []byte(scheduler), Overrides{Set: set}, everything())
	}
	s := testkit.Must(parse(map[string]string{"setting.vm.swappiness": "10"}))(t)
	f := s.Factors[0]
	if f.Name != "vm_swappiness" || f.Setting != "swappiness" || !slices.Equal(f.Levels, []string{Current, "10"}) ||
		f.Baseline != Current || s.Overrides["setting.vm.swappiness"] != "10" {
		t.Errorf("%+v %v", f, s.Overrides)
	}
	for want, set := range map[string]map[string]string{
		"no factor of this study varies a server's parameter": {"server.commit_delay": "1"},
		"one can be varied at a time":                         {"setting.thp": "never", "setting.ksm": "0"},
		"what there is already":                               {"setting.thp": Current},
		"expected --set setting.NAME=LEVEL":                   {"setting.": "1"},
		"no such setting":                                     {"setting.tph": "never"},
	} {
		testkit.Refused(parse(set))(t, want, set)
	}
}
