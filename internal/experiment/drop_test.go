package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/studies"
)

const twoFactors = `
[study]
name = "t"
section = "smt"
[[factor]]
name = "wait"
parameter = "operations"
levels = ["1", "2", "3"]
[[factor]]
name = "boot"
manual = "set it to {level}"
change = "reboot"
levels = ["on", "off"]
[[contrast]]
factor = "wait"
level = "3"
[[contrast]]
factor = "wait"
primary = false
at = {boot = "off"}
[[contrast]]
factor = "boot"
at = {wait = "1"}
[workload]
name = "null"
[guard]
exhausted = "mark"
`

func parsed(t testing.TB, text string) *Study {
	t.Helper()
	return testkit.Must(Parse("t.toml", "/", []byte(text), Overrides{}, everything()))(t)
}

// contrasts names what a study compares.
func contrasts(s *Study) (out []string) {
	for _, c := range s.Contrasts {
		out = append(out, c.String())
	}
	return out
}

func TestDrop(t *testing.T) {
	full := []string{"wait 3", "wait 2 at boot off", "wait 3 at boot off", "boot off at wait 1"}
	if got := contrasts(parsed(t, twoFactors)); !cmp.Equal(got, full) {
		t.Fatalf("the study compares %q", got)
	}
	for name, c := range map[string]struct {
		why                        map[string]map[string]string
		factors, absent, contrasts []string
		held                       string
		kind                       result.DesignKind
	}{
		"nothing": {nil, []string{"wait 1 2 3", "boot on off"}, nil, full, "1", result.SplitPlot},
		"one level": {map[string]map[string]string{"wait": {"3": "slow"}}, []string{"wait 1 2", "boot on off"},
			[]string{"wait 3: slow"}, []string{"wait 2 at boot off", "boot off at wait 1"}, "1", result.SplitPlot},
		"a baseline": {map[string]map[string]string{"wait": {"1": "quick"}}, []string{"boot on off"},
			[]string{"wait 1: quick", "wait 2: there is no 1 to compare it with", "wait 3: there is no 1 to compare it with"},
			nil, "", ""},
		"all but the baseline": {map[string]map[string]string{"wait": {"2": "a", "3": "b"}}, []string{"boot on off"},
			[]string{"wait 2: a", "wait 3: b", "wait 1: there is nothing to compare it with"}, []string{"boot off"}, "1",
			result.SplitPlot},
		"what makes whole plots": {map[string]map[string]string{"boot": {"off": "firmware"}}, []string{"wait 1 2 3"},
			[]string{"boot off: firmware", "boot on: there is nothing to compare it with"}, []string{"wait 3"}, "1",
			result.RCBD},
	} {
		t.Run(name, func(t *testing.T) {
			s := parsed(t, twoFactors)
			before := fmt.Sprintf("%+v", *s)
			got, err := Drop(s, c.why)
			testkit.Is(t, before, fmt.Sprintf("%+v", *s), "the study was changed")
			if c.contrasts == nil {
				want := "t.toml: this host cannot run it: nothing that it compares is left, because quick (wait 1)"
				if bad, ok := errors.AsType[*Problems](err); !ok || bad.Error() != want {
					t.Fatalf("got %v, want %s", err, want)
				}
				return
			}
			testkit.OK(t, err)
			var factors, absent []string
			for _, f := range got.Factors {
				factors = append(factors, f.Name+" "+strings.Join(f.Levels, " "))
			}
			for _, a := range got.Absent {
				absent = append(absent, a.Factor+" "+a.Level+": "+a.Reason)
			}
			testkit.Same(t, [][]string{c.factors, c.absent, c.contrasts}, [][]string{factors, absent,
				contrasts(got)})
			if v := workload.Value(got.Workload.Params, "operations").(int64); fmt.Sprint(v) != c.held ||
				got.Design.Kind != c.kind {
				t.Errorf("held at %d in a %s design, want %s in %s", v, got.Design.Kind, c.held, c.kind)
			}
			if x := Head(got); x.Section != "smt" || len(x.Absent) != len(c.absent) || x.Study != Hash(s) {
				t.Errorf("the head has section %q, %d absent levels and hash %s", x.Section, len(x.Absent), x.Study)
			}
		})
	}
}

// A level that is left when the baseline is gone is what the workload gets.
func TestDropHoldsWhatIsLeft(t *testing.T) {
	s := parsed(t, strings.Replace(twoFactors, `at = {wait = "1"}`, `at = {wait = "2"}`, 1))
	got := testkit.Must(Drop(s, map[string]map[string]string{"wait": {"1": "quick", "3": "slow"}}))(t)
	if v := workload.Value(got.Workload.Params, "operations").(int64); v != 2 ||
		!cmp.Equal(contrasts(got), []string{"boot off"}) {
		t.Errorf("held at %d, compares %q", v, contrasts(got))
	}
}

// Of directories nothing is held: the study says which one it has nothing to compare with.
func TestDropOfDirectories(t *testing.T) {
	for gone, says := range map[string]string{
		"1": "factor wait has no 1 to compare with, because gone (wait 1)",
		"2": "factor wait has nothing to compare with, because gone (wait 2, 3)",
	} {
		s := parsed(t, twoFactors)
		s.Factors[0].Directories = map[string]Directory{}
		why := map[string]string{gone: "gone"}
		if gone == "2" {
			why["3"] = "gone"
		}
		_, err := Drop(s, map[string]map[string]string{"wait": why})
		testkit.Refused(s, err)(t, says)
	}
}

// Whatever is missing, what is left can be planned, and nothing of what is missing
// is in it.
func TestDropLeavesADesign(t *testing.T) {
	s := parsed(t, twoFactors)
	rapid.Check(t, func(t *rapid.T) {
		why := map[string]map[string]string{}
		for _, f := range s.Factors {
			why[f.Name] = map[string]string{}
			for _, l := range f.Levels {
				if rapid.Bool().Draw(t, f.Name+l) {
					why[f.Name][l] = "gone"
				}
			}
		}
		got, err := Drop(s, why)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("several lines: %v", err)
			}
			return
		}
		again, err := Drop(got, why)
		if err != nil || !cmp.Equal(Head(got), Head(again)) {
			t.Fatalf("dropped twice it is another study: %v", err)
		}
		cells, blocks := Plan(got)
		for _, c := range cells {
			for f, l := range c.Levels {
				if why[f][l] != "" {
					t.Fatalf("%s %s is planned", f, l)
				}
			}
		}
		for _, c := range got.Contrasts {
			for i, f := range c.Factors {
				if !slices.ContainsFunc(cells, func(x result.Cell) bool { return x.Levels[f] == c.Levels[i] }) {
					t.Fatalf("%s is compared and not planned", c.String())
				}
			}
		}
		if len(blocks) == 0 || len(got.Factors) == 0 {
			t.Fatal("nothing to run")
		}
	})
}

// halved is a workload that has no cell but the first half of those asked for.
type halved struct{ workload.Workload }

func (halved) Offers(_ workload.Config, param string, levels []string, _ workload.Machine) map[string]string {
	out := map[string]string{}
	for _, l := range levels[(len(levels)+1)/2:] {
		out[l] = "no half of " + param
	}
	return out
}

func (halved) Machine(cfg workload.Config, _ workload.Machine) result.Machine {
	return result.Machine{CPUs: len(cfg.Machine.Allowed)}
}

func TestFit(t *testing.T) {
	s := parsed(t, twoFactors)
	m := workload.Machine{Topology: &host.Topology{}, Allowed: []int{0, 1, 2}, Measured: [][2]int{{0, 2}, {1, 3}}}
	if got, err := Fit(s, m, nil); got != s || err != nil {
		t.Errorf("a workload that has everything changed the study: %v", err)
	}
	s.Work = halved{s.Work}
	if got, err := Fit(s, workload.Machine{}, nil); got != s || err != nil {
		t.Errorf("a machine that is not known changed the study: %v", err)
	}
	got, err := Fit(s, m, nil)
	testkit.OK(t, err)
	want := &result.Machine{CPUs: 3, Measured: m.Measured}
	if diff := cmp.Diff(want, Head(got).Machine); diff != "" || !cmp.Equal(got.Absent,
		[]result.Absent{{Factor: "wait", Level: "3", Reason: "no half of operations"}}) {
		t.Errorf("absent %v, machine (-want +got):\n%s", got.Absent, diff)
	}
	if text := outlined(got); !strings.Contains(text,
		"Absent: not on this host: wait 3 (no half of operations)\n") || !strings.Contains(text,
		"no primary effect") == slices.ContainsFunc(got.Contrasts, func(c result.Contrast) bool {
		return !c.Primary
	}) && len(contrasts(got)) == 0 {
		t.Errorf("described as\n%s", text)
	}
	m.Measured = [][2]int{}
	if got, err = Fit(s, m, nil); err != nil || got.Known.Measured == nil || len(got.Known.Measured) > 0 {
		t.Errorf("none measured gave %v, %v", got.Known, err)
	}
}

func TestSectionAndExhausted(t *testing.T) {
	s := parsed(t, twoFactors)
	if !s.Guard.Mark || s.Section != "smt" {
		t.Errorf("mark %v, section %q", s.Guard.Mark, s.Section)
	}
	if s = parsed(t, strings.Replace(twoFactors, "mark", "stop", 1)); s.Guard.Mark {
		t.Error("stop marks")
	}
	for was, now := range map[string][2]string{`"smt"`: {`"smd"`, "did you mean smt?"},
		`"mark"`: {`"marks"`, "did you mean mark?"}} {
		_, err := Parse("t.toml", "/", []byte(strings.Replace(twoFactors, was, now[0], 1)), Overrides{}, everything())
		testkit.Fails(t, err, now[1], now[0])
	}
}

// A study that a host cannot run names the one that it can.
func TestInstead(t *testing.T) {
	s := parsed(t, strings.Replace(twoFactors, `section = "smt"`, `instead = "null"`, 1))
	_, err := Drop(s, map[string]map[string]string{"wait": {"1": "quick", "2": "slow", "3": "slow"},
		"boot": {"off": "no firmware"}})
	if err == nil || !strings.HasSuffix(err.Error(), "; 'hostlab run null' runs here") ||
		strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}

// What built-in studies name instead is built in, and needs nothing of the host.
func TestBuiltInsNameOthers(t *testing.T) {
	files := testkit.Must(studies.Files.ReadDir("."))(t)
	named := 0
	for _, file := range files {
		s := testkit.Must(Find(strings.TrimSuffix(file.Name(), ".toml"), Overrides{}, everything()))(t)
		if s.Instead == "" {
			continue
		}
		named++
		other, err := Find(s.Instead, Overrides{}, everything())
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		for _, x := range other.Factors {
			if x.Kind != "parameter" && x.Kind != KindEmulated { // no host lacks these
				t.Errorf("%s names %s, whose factor %s is of kind %s", s.Name, other.Name, x.Name, x.Kind)
			}
		}
	}
	if named < 2 {
		t.Errorf("%d studies name another", named)
	}
}

// Of many levels that lack for one reason a refusal names a few, behind the reason.
func TestReasonsText(t *testing.T) {
	absent := []result.Absent{{Factor: "cell", Level: "a", Reason: "no CPU 7"},
		{Factor: "cpus", Level: "x", Reason: "no core"}}
	for _, l := range []string{"b", "c", "d", "e"} {
		absent = append(absent, result.Absent{Factor: "cell", Level: l, Reason: "no CPU 7"})
	}
	if got, want := reasonsText(absent), "no CPU 7 (5 levels of cell a, b, c, ...); no core (cpus x)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := reasonsText(absent[1:5]), "no core (cpus x); no CPU 7 (cell b, c, d)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
