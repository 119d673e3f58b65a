package check

import (
	"testing"

	"hostlab/internal/setting"
	"hostlab/internal/testkit"
)

// Each setting that some check advises is excused with that check, whether its advice depends on the host or not.
func TestAdvises(t *testing.T) {
	for _, want := range []struct {
		check, setting string
		is             bool
	}{{"PWR-001", "governor", true}, {"MEM-006", "swappiness", true}, {"MEM-001", "thp", true},
		{"MEM-006", "governor", false}} {
		c := testkit.Must(Find(want.check))(t)
		testkit.Is(t, want.is, c.Advises(want.setting), want.check, "advises", want.setting)
	}
	for _, s := range setting.All() {
		for id := range s.Advice {
			if c, err := Find(id); err != nil || !c.Advises(s.Name) {
				t.Errorf("%s does not advise %s, which names it", id, s.Name)
			}
		}
	}
}
