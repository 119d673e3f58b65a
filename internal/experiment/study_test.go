package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/internal/workload/all"
)

// smallest is the least that a study needs.
const smallest = `[[factor]]
name = "effect"
parameter = "effect"
levels = [1, 1.05]
[workload]
name = "null"
`

func parse(t *testing.T, text string, o Overrides) *Study {
	t.Helper()
	return testkit.Must(Parse("small.toml", t.TempDir(), []byte(text), o, everything()))(t)
}

func TestDefaults(t *testing.T) {
	s := parse(t, smallest, Overrides{})
	want := &result.Experiment{Schema: result.SchemaVersion, Name: "small", Title: "small", Study: Hash(s),
		Overrides: map[string]string{}, Evidence: result.Measured,
		Workload: "null", Factors: []result.Factor{{Name: "effect", Kind: "parameter", Levels: []string{"1", "1.05"},
			Baseline: "1", Change: result.Online}},
		Contrasts: []result.Contrast{{Factors: []string{"effect"}, Levels: []string{"1.05"}, Primary: true}},
		Design: result.Design{Kind: result.RCBD, Alpha: 0.05, Looks: []int{9, 10, 11, 12, 14, 17, 20, 25, 30, 37, 45},
			Repeats: 1, Dwell: 12},
		Cells: []result.Cell{{Levels: map[string]string{"effect": "1"}}, {Levels: map[string]string{"effect": "1.05"}}},
	}
	got := Head(s)
	if len(got.Blocks) != 46 || got.Responses[0].Name != "seconds" || !got.Responses[0].Primary ||
		got.Responses[1].Primary || got.Responses[0].Margin != 0.02 {
		t.Errorf("%d blocks, responses %+v", len(got.Blocks), got.Responses)
	}
	if _, there := got.Parameters["effect"]; there || got.Parameters["value"] != "1" {
		t.Errorf("parameters %v: expected value, and not effect, which varies", got.Parameters)
	}
	got.Blocks, got.Responses, got.Parameters = nil, nil, nil
	testkit.Same(t, want, got)
	if s.Workload.Retries != 5 || s.Workload.WarmUp != 1 || s.Workload.Timeout != 10*time.Minute {
		t.Errorf("workload %+v", s.Workload)
	}
}

// full uses each key once, where a study can have it.
const full = `schema = 1
[study]
name = "power-x-log"
title = "t"
description = "d"
seed = 7
aa = 0
alpha = 0.1
budget = "6h"
evidence = "emulated"
[design]
order = "random"
looks = [3, 0x6]
repeats = 4
[[factor]]
name = "bios"
levels = ["max", "balanced"]
baseline = "balanced"
manual = "Set power to {level}"
change = "reboot"
read = ["./bios"]
[[factor]]
name = "log"
levels = ["ssd", "san"]
apply = ["./move", "{level}"]
restore = ["./move", "{original}"]
read = ["./where"]
change = "restart-workload"
settle = "20s"
timeout = "5m"
[[factor]]
name = "n"
parameter = "n"
levels = [1, true, 2.50]
[workload]
name = "command"
run = ["./bench", "{n}", "--log={log}"]
env = {BIOS = "{bios}"}
warmup = 0
settle = "1s"
timeout = "2m"
expect = "10s"
retries = 2
[[response]]
name = "batch"
title = "Batch"
from = "json:$.ms"
unit = "s"
scale = 0.001
better = "lower"
equiv = "0.5ms"
primary = true
[[response]]
name = "rate"
from = "regex:X (.*)"
unit = "1/s"
equiv = "3%"
compare = "ratio"
[[contrast]]
factor = "log"
level = "san"
at = {n = true, bios = "max"}
[[contrast]]
interaction = ["bios", "n"]
primary = false
[guard]
max_foreign_cpu = "3%"
max_steal = 0.01
throttling = true
ours = ["postgres"]
fingerprint = ["kernel", "smt"]
`

func TestAllKeys(t *testing.T) {
	s := parse(t, full, Overrides{})
	if diff := cmp.Diff(result.Design{Kind: result.SplitPlot, Seed: 7, Alpha: 0.1, Looks: []int{3, 6}, Repeats: 4},
		s.Design); diff != "" {
		t.Error(diff)
	}
	wantFactors := []Factor{
		{Factor: result.Factor{Name: "bios", Kind: "manual", Levels: []string{"max", "balanced"}, Baseline: "balanced",
			Change: result.Reboot},
			Manual: "Set power to {level}", Read: []string{"./bios"}, Timeout: time.Minute},
		{Factor: result.Factor{Name: "log", Kind: "commands", Levels: []string{"ssd", "san"}, Baseline: "ssd",
			Change: result.RestartWorkload},
			Apply: []string{"./move", "{level}"}, Restore: []string{"./move", "{original}"}, Read: []string{"./where"},
			Settle: 20 * time.Second, Timeout: 5 * time.Minute},
		{Factor: result.Factor{Name: "n", Kind: "parameter", Levels: []string{"1", "true", "2.50"}, Baseline: "1",
			Change: result.Online}, Parameter: "n", Timeout: time.Minute},
	}
	testkit.Same(t, wantFactors, s.Factors)
	wantContrasts := []result.Contrast{
		{Factors: []string{"log"}, Levels: []string{"san"}, At: map[string]string{"n": "true", "bios": "max"}, Primary: true},
		{Factors: []string{"bios", "n"}, Levels: []string{"max", "true"}}, {Factors: []string{"bios", "n"},
			Levels: []string{"max", "2.50"}},
	}
	testkit.Same(t, wantContrasts, s.Contrasts)
	wantResponses := []Response{
		{From: "json:$.ms", Scale: 0.001, Response: result.Response{Name: "batch", Title: "Batch", Unit: "s",
			Better: "lower", Compare: result.Difference, Margin: 0.0005, Primary: true}},
		{From: "regex:X (.*)", Scale: 1, Response: result.Response{Name: "rate", Unit: "1/s", Better: "higher",
			Compare: result.Ratio, Margin: 0.03}},
	}
	testkit.Same(t, wantResponses, s.Responses)
	cpu, steal := 0.03, 0.01
	testkit.Same(t, Guard{MaxForeignCPU: &cpu, MaxSteal: &steal, Throttling: true, Ours: []string{"postgres"},
		Fingerprint: []string{"kernel", "smt"}}, s.Guard)
	wantPicks := []workload.Pick{{Name: "batch", From: "json:$.ms", Unit: "s", Scale: 0.001},
		{Name: "rate", From: "regex:X (.*)", Unit: "1/s", Scale: 1}}
	testkit.Same(t, wantPicks, s.Config("").Picks)
	if s.Workload.WarmUp != 0 || s.Workload.Settle != time.Second || s.Workload.Expect != 10*time.Second ||
		s.Workload.Retries != 2 || s.Budget != 6*time.Hour {
		t.Errorf("%+v, budget %v", s.Workload, s.Budget)
	}
}

// TestNoWorkloadHidesAKey: parameters share a table with the study's own keys.
func TestNoWorkloadHidesAKey(t *testing.T) {
	for _, w := range all.Workloads() {
		for _, p := range w.Describe().List() {
			if slices.Contains(keysOf("workload"), p.Name) {
				t.Errorf("parameter %s of workload %s is a key of [workload]: choose another name", p.Name, w.Describe().Name)
			}
		}
	}
}

func TestEquiv(t *testing.T) {
	for _, c := range []struct {
		unit, equiv string
		margin      float64
		compare     result.Comparison
	}{
		{"s", `"2%"`, 0.02, result.Ratio}, {"s", `"0.5 %"`, 0.005, result.Ratio}, {"s", `"0.5ms"`, 0.0005, result.Difference},
		{"s", `"20 us"`, 20e-6, result.Difference}, {"s", `"2s"`, 2, result.Difference},
		{"B", `"64MiB"`, 64 << 20, result.Difference},
		{"1/s", `"50 1/s"`, 50, result.Difference}, {"1/s", `"50/s"`, 50, result.Difference},
		{"1/s", `"2k/s"`, 2000, result.Difference},
		{"B/s", `"1 MiB/s"`, 1 << 20, result.Difference}, {"W", `"3W"`, 3, result.Difference},
		{"", `5`, 5, result.Difference},
		{"%", "\"2%\"\ncompare = \"difference\"", 2, result.Difference}, {"%", `"2%"`, 0.02, result.Ratio},
		{"s", "0.25\ncompare = \"difference\"", 0.25, result.Difference},
	} {
		text := strings.Replace(full, `unit = "s"`, `unit = "`+c.unit+`"`, 1)
		text = strings.Replace(text, `equiv = "0.5ms"`, "equiv = "+c.equiv, 1)
		s, err := Parse("x.toml", "/", []byte(text), Overrides{}, everything())
		if err != nil {
			t.Errorf("unit %q, equiv %s: %v", c.unit, c.equiv, err)
			continue
		}
		if r := s.Responses[0]; math.Abs(r.Margin/c.margin-1) > 1e-12 || r.Compare != c.compare {
			t.Errorf("unit %q, equiv %s: margin %v by %s, expected %v by %s", c.unit, c.equiv, r.Margin, r.Compare, c.margin,
				c.compare)
		}
	}
}

func TestOverrides(t *testing.T) {
	seed := uint64(1<<64 - 1)
	s := parse(t, smallest, Overrides{Blocks: 3, Seed: &seed, Set: map[string]string{"workload.jitter": "0.5",
		"workload.warmup": "4", "workload.expect": "2s"}})
	if diff := cmp.Diff([]int{3}, s.Design.Looks); diff != "" || s.Design.Seed != seed || s.Workload.WarmUp != 4 ||
		s.Workload.Expect != 2*time.Second || workload.Value(s.Workload.Params, "jitter") != 0.5 {
		t.Errorf("%+v %+v %s", s.Design, s.Workload, diff)
	}
	want := map[string]string{"blocks": "3", "seed": "18446744073709551615", "workload.jitter": "0.5",
		"workload.warmup": "4", "workload.expect": "2s"}
	testkit.Same(t, want, s.Overrides)
	if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0], "it takes 6") {
		t.Errorf("warnings %q: expected that 3 blocks give no verdict", w)
	}
	for _, c := range []struct{ key, value, want string }{
		{"workload.jiter", "1", "--set workload.jiter=1: workload null has no parameter jiter; did you mean jitter?"},
		{"workload.jitter", "11", "--set workload.jitter=11: jitter: 11 is outside of 0 to 10"},
		{"workload.jitter", "x", `--set workload.jitter=x: jitter: "x" is not a number`},
		{"workload.effect", "2", "x.toml: --set gives the parameter of each factor, so that nothing is left to vary"},
		{"workload.warmup", "x", `--set workload.warmup=x: warmup: "x" is not a whole number`},
		{"workload.timeout", "5",
			`--set workload.timeout=5: timeout: "5" is not a time with its unit, such as 150ms, 2s or 1m30s`},
		{"workload.name", "nul", `--set workload.name=nul: no workload "nul"; did you mean null?`},
		{"jitter", "1",
			"--set jitter=1: only these can be set: workload.KEY=VALUE, settle=TIME, level.NAME=DIRECTORY, setting.NAME=LEVEL and server.NAME=LEVEL; did you mean workload.jitter?"},
		{"study.seed", "1",
			"--set study.seed=1: only these can be set: workload.KEY=VALUE, settle=TIME, level.NAME=DIRECTORY, setting.NAME=LEVEL and server.NAME=LEVEL"},
	} {
		_, err := Parse("x.toml", "/", []byte(smallest), Overrides{Set: map[string]string{c.key: c.value}}, everything())
		testkit.Is(t, c.want, fmt.Sprint(err))
	}
}

func TestHash(t *testing.T) {
	s := parse(t, smallest, Overrides{})
	sum := sha256.Sum256([]byte(smallest))
	if Hash(s) != hex.EncodeToString(sum[:]) {
		t.Error("without overrides the hash is that of the file, as sha256sum prints it")
	}
	seen := map[string]string{Hash(s): "none"}
	one, two := uint64(1), uint64(2)
	for name, o := range map[string]Overrides{"blocks": {Blocks: 10}, "seed 1": {Seed: &one}, "seed 2": {Seed: &two},
		"set": {Set: map[string]string{"workload.jitter": "1"}}, "two": {Set: map[string]string{"workload.jitter": "1",
			"workload.noise": "1"}}} {
		h := Hash(parse(t, smallest, o))
		if other, twice := seen[h]; twice {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		if seen[h] = name; h != Hash(parse(t, smallest, o)) {
			t.Errorf("%s: the hash changes", name)
		}
	}
	rapid.Check(t, func(t *rapid.T) { // no two lists of overrides run together
		words := rapid.MapOf(rapid.StringMatching(`[ab=]{0,3}`), rapid.StringMatching(`[ab=]{0,3}`))
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		if (Hash(&Study{Overrides: a}) == Hash(&Study{Overrides: b})) != cmp.Equal(a, b) {
			t.Fatalf("%v and %v", a, b)
		}
	})
}

func TestSettings(t *testing.T) {
	text := "[[factor]]\nname = \"power\"\nsetting = \"governor\"\nlevels = [\"performance\", \"powersave\"]\n[workload]\nname = \"null\"\n"
	s, err := Parse("x.toml", "/", []byte(text), Overrides{}, everything())
	if err != nil || s.Factors[0].Setting != "governor" || s.Factors[0].Kind != "setting" {
		t.Errorf("%+v, %v", s, err)
	}
	_, err = Parse("x.toml", "/", []byte(strings.Replace(text, "governor", "governr", 1)), Overrides{}, everything())
	testkit.Is(t, `x.toml:3: governr: there is no such setting; did you mean governor?`, fmt.Sprint(err), err)
}

// A sysctl's name is the setting's, so that records and journals have one name of it.
func TestSysctlFactor(t *testing.T) {
	text := "[[factor]]\nname = \"swap\"\nsetting = \"NAME\"\nlevels = [\"10\", \"60\"]\n[workload]\nname = \"null\"\n"
	for typed, want := range map[string]string{"vm.swappiness": "swappiness", "vm/swappiness": "swappiness",
		"kernel.pid_max": "pid_max"} {
		s, err := Parse("x.toml", "/", []byte(strings.Replace(text, "NAME", typed, 1)), Overrides{}, everything())
		if err != nil || s.Factors[0].Setting != want {
			t.Errorf("%s: %+v, %v", typed, s, err)
		}
	}
	for typed, want := range map[string]string{
		"vm.swapiness":    "x.toml:3: vm.swapiness: no such sysctl is known; did you mean vm.swappiness?",
		"vm.nr_hugepages": "x.toml:3: vm.nr_hugepages: hostlab does not set this sysctl; hostlab settings lists those that it does",
	} {
		_, err := Parse("x.toml", "/", []byte(strings.Replace(text, "NAME", typed, 1)), Overrides{}, everything())
		if !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// A name that is far from all gets the list.
func TestFarWorkload(t *testing.T) {
	k := Known{Workloads: []workload.Workload{all.Null{}}}
	_, err := Parse("x.toml", "/", []byte(strings.Replace(smallest, `"null"`, `"postgresql-benchmark"`, 1)), Overrides{},
		k)
	testkit.Is(t, `x.toml:6: no workload "postgresql-benchmark"; there are null`, fmt.Sprint(err), err)
}

func TestDuration(t *testing.T) {
	s := parse(t, smallest, Overrides{})
	s.Workload.Settle, s.Factors[0].Settle = time.Second, 2*time.Second
	least, most := Duration(s, 7*time.Second) // 10 s a run, 2 runs a block, 1 run to warm up
	if least != 190*time.Second || most != 1270*time.Second {
		t.Errorf("%v to %v, expected 3m10s to 21m10s", least, most)
	}
	s.Budget = 8 * time.Minute
	if _, most = Duration(s, 7*time.Second); most != s.Budget {
		t.Errorf("at most %v, the budget is %v", most, s.Budget)
	}
	if least, most = Duration(s, 0); least != 0 || most != 0 {
		t.Errorf("%v to %v, but nobody said how long a run takes", least, most)
	}
}
