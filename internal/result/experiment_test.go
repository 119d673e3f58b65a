package result

import "testing"

func TestPlace(t *testing.T) {
	x := &Experiment{Places: []Place{{Factor: "log", Level: "slow", Emulated: true}, {Factor: "log", Level: "memory", Volatile: true}, {Factor: "log", Level: "disk"}}}
	for level, want := range map[string][2]bool{"slow": {true, false}, "memory": {false, true}, "disk": {}, "other": {}} {
		if p := x.Place("log", level); [2]bool{p.Emulated, p.Volatile} != want {
			t.Errorf("%s: %+v", level, p)
		}
	}
}
