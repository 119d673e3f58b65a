package result

import "testing"

// Records of the first versions say in text what their levels lie on; later ones say it twice.
func TestPlace(t *testing.T) {
	old := &Experiment{Context: map[string]string{"log slow": "emulated: each sync takes 1ms longer (FUSE), over /log", "log memory": "/dev/shm on tmpfs", "log disk": "/log on /dev/vda (ext4)"}}
	now := &Experiment{Context: old.Context, Places: []Place{{Factor: "log", Level: "slow", Emulated: true}, {Factor: "log", Level: "memory", Volatile: true}, {Factor: "log", Level: "disk"}}}
	for _, x := range []*Experiment{old, now} {
		for level, want := range map[string][2]bool{"slow": {true, false}, "memory": {false, true}, "disk": {}, "other": {}} {
			if p := x.Place("log", level); [2]bool{p.Emulated, p.Volatile} != want {
				t.Errorf("%s: %+v", level, p)
			}
		}
	}
}
