package main

import (
	"path/filepath"
	"testing"
	"time"

	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/testkit"
)

// After Ctrl-C, what is said to be back is.
func TestLeftover(t *testing.T) {
	factor := func(name, kind string, change result.Change) experiment.Factor {
		return experiment.Factor{Factor: result.Factor{Name: name, Kind: kind, Change: change}}
	}
	st := &experiment.Study{Factors: []experiment.Factor{factor("power", "commands", result.Online), factor("smt", "commands", result.Reboot), factor("bios", "manual", result.Manual)}}
	for name, c := range map[string]struct {
		restored []string
		want     string
	}{
		"all":          {[]string{"power", "bios"}, " and all levels are put back"},
		"with a boot":  {[]string{"power", "smt", "bios"}, " and all levels are put back; that of smt takes effect with the next boot"},
		"not by hand":  {[]string{"power"}, ", and all levels are put back but that of bios (for which: hostlab run --restore --out DIR)"},
		"boot, person": {[]string{"power", "smt"}, ", and all levels are put back but that of bios (for which: hostlab run --restore --out DIR); that of smt takes effect with the next boot"},
	} {
		t.Chdir(t.TempDir())
		s := testkit.Must(store.Create("DIR", &result.Experiment{Schema: result.SchemaVersion}, nil))(t)
		journal := func(op store.Op, factor string) {
			testkit.OK(t, s.Journal(store.Entry{Op: op, At: time.Now(), Factor: factor}))
		}
		for _, f := range []string{"power", "bios"} {
			journal(store.Original, f)
		}
		for _, f := range c.restored {
			if f == "smt" {
				journal(store.Original, f)
			}
			journal(store.Restored, f)
		}
		s.Close()
		o := runOptions{dir: filepath.Clean("DIR")}
		testkit.Is(t, c.want, o.leftover(st), name)
	}
}
