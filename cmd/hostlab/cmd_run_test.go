package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/experiment"
	"hostlab/internal/experiment/runner"
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

// The plan of a live experiment names the risk of each level that has one, as the report does that says how to keep it.
func TestPlanNamesRisks(t *testing.T) {
	st := &experiment.Study{Factors: []experiment.Factor{
		{Factor: result.Factor{Name: "f", Kind: experiment.KindServer, Levels: []string{"current", "on", "off"}, Baseline: "current"}, Server: "synchronous_commit"},
		{Factor: result.Factor{Name: "g", Kind: experiment.KindSetting, Levels: []string{"current", "performance"}, Baseline: "current"}, Setting: "governor"},
		{Factor: result.Factor{Name: "h", Kind: experiment.KindServer, Levels: []string{"current", "7"}, Baseline: "current"}, Server: "some_option"},
	}}
	var out bytes.Buffer
	(&runOptions{}).showLive(&out, st, "it")
	for _, want := range []string{"Risk     f at off: if the server or its host crashes, the commits of the last second are lost\n",
		"Risk     g at performance: CPUs draw more power while they are busy\n", "Risk     h at 7: what some_option may cost besides is not known here"} {
		testkit.Has(t, out.String(), want)
	}
	testkit.Is(t, 3, strings.Count(out.String(), "Risk"), "risks")
	out.Reset()
	st.Design.Looks = []int{3}
	if err := (&runOptions{}).plan(streams{out: &out}, st); err != nil || !strings.Contains(out.String(), "f at off: if the server or its host crashes") {
		t.Errorf("%v: a plan without the risk:\n%s", err, out.String())
	}
}

// What a design calls pairs is called so while it runs.
func TestPairsAreCalledPairs(t *testing.T) {
	for pairs, word := range map[bool]string{true: "pair", false: "block"} {
		p := runner.Progress{Pairs: pairs, Block: 3, Blocks: 10, Most: -1, Last: &result.Run{Block: 3, Status: result.Void, Reason: "x"}}
		for text, want := range map[string]string{lookLine(p): word + "s", runLine(p): strings.ToUpper(word[:1]) + word[1:] + " 4: "} {
			testkit.Has(t, text, want)
		}
	}
}
