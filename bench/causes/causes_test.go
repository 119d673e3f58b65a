//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/testkit"

	"golang.org/x/sys/unix"
)

// document is what assess says of a process that waits for a CPU, cut to what is read.
const document = `{"verdict": {"text": "Process a waits 50 % for a CPU. First: run \"chrt --idle --pid 0 7\"."},
"levers": [
  {"name": "log", "verdict": "possible", "likely": 0.0001, "at_most": 0.9, "next": {"command": "hostlab run log-device"}},
  {"name": "cpus", "verdict": "possible", "likely": 0.3, "at_most": 0.5, "next": {"command": ""}},
  {"name": "neighbour", "verdict": "worthwhile", "likely": 0.25, "at_most": 0.5, "next": {"command": "chrt --idle --pid 0 7"}},
  {"name": "clock", "verdict": "unknown", "likely": null, "at_most": null, "next": {"command": ""}}],
"time": {"parts": [{"name": "lock", "share": 0.5, "interval": [0.3, 0.7]}]},
"settings": {"of": [{"name": "max_wal_size", "at_most": 0.4}, {"name": "work_mem"}]}}`

func heard(t *testing.T) *answer {
	t.Helper()
	a := &answer{Head: "Most went to nightly (PID 7)."}
	testkit.OK(t, a.read([]byte(document)))
	return a
}

// What is worthwhile is first, and what is likely to give nothing is not; a setting with a bound is read, too.
func TestRead(t *testing.T) {
	a, l := heard(t), &load{}
	if first := l.first(a); first == nil || first.Name != "neighbour" || first.Command != "chrt --idle --pid 0 7" {
		t.Errorf("first: %+v", first)
	}
	if !slices.ContainsFunc(a.Levers, func(v lever) bool { return v.Name == "max_wal_size" && *v.AtMost == 0.4 }) {
		t.Errorf("the setting's bound is not read: %+v", a.Levers)
	}
	if len(a.Levers) != 6 || a.Levers[5].Name != "part lock" || *a.Levers[5].AtMost != 0.7 {
		t.Errorf("levers %+v", a.Levers)
	}
}

// A document that says what it puts first is believed, and one that tells of the server says so by leaving it out.
func TestFirst(t *testing.T) {
	for document, want := range map[string]string{
		`{"verdict": {"first": "work_mem"}, "server": [{"name": "work_mem", "at_most": null, "step": "alter system set work_mem = '4MB'; select pg_reload_conf()"}],
"levers": [{"name": "cpus", "verdict": "worthwhile", "at_most": 1}]}`: "alter system set work_mem = '4MB'; select pg_reload_conf()",
		`{"verdict": {}, "server": [], "levers": [{"name": "cpus", "verdict": "worthwhile", "at_most": 1}]}`: "",
	} {
		a := &answer{}
		testkit.OK(t, a.read([]byte(document)))
		got := ""
		if v := (&load{}).first(a); v != nil {
			got = v.Command
		}
		testkit.Is(t, want, got, "first step")
	}
}

func TestJudge(t *testing.T) {
	r := &record{With: []float64{0.010, 0.010}, Without: []float64{0.006, 0.006}, Beside: 7}
	for name, c := range map[string]struct {
		load load
		want string // of first, named, holds, close, likely
	}{
		"the cause is first":                        {load{First: []string{"neighbour"}, Named: []string{"nightly", "{beside}"}}, "yes yes yes yes no"},
		"another is first, and the bound is there":  {load{First: []string{"cpus"}, Named: []string{"nobody"}}, "no no yes yes yes"},
		"a likely figure of something else":         {load{First: []string{"cpus"}, Other: "fewer clients"}, "no yes yes yes -"},
		"words do not count after a worthwhile one": {load{First: []string{"~waits 50"}}, "no yes no no -"},
		"a setting's bound":                         {load{First: []string{"~max_wal_size"}}, "no yes yes yes -"},
		"the part's end, as no lever touches it":    {load{First: []string{"~holder"}, Part: "lock"}, "no yes yes no -"},
		"no bound is given":                         {load{First: []string{"clock"}}, "no yes no no -"},
		"it is named by its number":                 {load{First: []string{"neighbour"}, Named: []string{"PID 8"}}, "yes no yes yes no"},
	} {
		a := heard(t)
		got := c.load.judge(r, a)
		likely := "-"
		if got.Likely != nil {
			likely = word(*got.Likely)
		}
		said := strings.Join([]string{word(got.First), word(got.Named), word(got.Holds), word(got.Close), likely}, " ")
		testkit.Is(t, c.want, said, name)
	}
}

func word(yes bool) string { return map[bool]string{true: "yes", false: "no"}[yes] }

// A load without a cause has its answer wrong where anything is worthwhile.
func TestNull(t *testing.T) {
	l, a := &load{}, heard(t)
	if !l.judge(&record{}, a).Wrong {
		t.Error("a worthwhile lever counts as right")
	}
	a.Levers = a.Levers[:2]
	if l.judge(&record{}, a).Wrong {
		t.Error("a possible lever counts as wrong")
	}
}

func TestGain(t *testing.T) {
	r := &record{With: []float64{0.010, 0.020}, Without: []float64{0.004, 0.005}}
	g := r.gain()
	if math.Abs(g.Value-0.7) > 1e-9 || math.Abs(g.Low-0.5) > 1e-9 || math.Abs(g.High-0.8) > 1e-9 {
		t.Errorf("gain %+v", g)
	}
}

// pgbench tells rates, other clients numbers.
func TestMarks(t *testing.T) {
	var m marks
	for _, line := range []string{"progress: 100.0 s, 50.0 tps, lat 1 ms", "progress: 102.0 s, 10.0 tps, lat 1 ms", "mark 103.5 40"} {
		if !m.read(line) {
			t.Errorf("%q is not read", line)
		}
	}
	if m.read("pgbench: warning") {
		t.Error("other words are read")
	}
	if got := m.since(101); len(got) != 2 || got[0] != (mark{102, 20}) || got[1] != (mark{103.5, 40}) {
		t.Errorf("marks %v", got)
	}
}

// A setting that the cause adds comes after those that are always there.
func TestOf(t *testing.T) {
	l := load{Always: setup{Settings: "a=1 b=2", Clients: 4}, With: setup{Settings: "b=3", Clients: 8}}
	if with := l.of(true); with.pairs()["b"] != "3" || with.pairs()["a"] != "1" || with.Clients != 8 {
		t.Errorf("with: %+v", with)
	}
	if without := l.of(false); without.pairs()["b"] != "2" || without.Clients != 4 {
		t.Errorf("without: %+v", without)
	}
}

func TestLoads(t *testing.T) {
	names, of, causes, nulls := map[string]bool{}, map[string]int{}, 0, 0
	for _, l := range loads() {
		if names[l.Name] || strings.ContainsAny(l.Name, ",/") {
			t.Errorf("%s: there are two, or the name is none for -only and files", l.Name)
		}
		names[l.Name] = true
		if kinds[l.Kind] == nil {
			t.Errorf("%s: there is no kind %s", l.Name, l.Kind)
		}
		if l.Null() {
			nulls++
			continue
		}
		causes++
		of[l.Kind]++
		if len(l.Named) == 0 {
			t.Errorf("%s: nothing has to be named", l.Name)
		}
		for _, p := range slices.Concat(l.First, l.Named) {
			if _, err := regexp.Compile(strings.TrimPrefix(p, "~")); err != nil {
				t.Errorf("%s: %v", l.Name, err)
			}
		}
		if reflect.DeepEqual(l.of(true), l.of(false)) {
			t.Errorf("%s: it is the same with its cause and without", l.Name)
		}
	}
	if causes < 40 || len(of) < 6 || nulls < 15 {
		t.Errorf("%d causes on %d kinds of service and %d loads without any", causes, len(of), nulls)
	}
}

// The figures of all answers stand beside each other, and what is printed says how many loads failed.
func TestTell(t *testing.T) {
	two := []load{{Name: "slow", First: []string{"neighbour"}, Named: []string{"nightly"}}, {Name: "nothing"}, {Name: "broken"}}
	records := map[string]*record{
		"slow":    {Load: "slow", With: []float64{2, 2}, Without: []float64{1, 1}, Beside: 7, Answers: map[string]*answer{"20 s": heard(t)}},
		"nothing": {Load: "nothing", Taken: 0.3, Answers: map[string]*answer{"20 s": {}}},
		"broken":  {Load: "broken", Failed: "no server\nat all"},
	}
	var out bytes.Buffer
	if tell(&out, two, records, []string{"20 s"}) {
		t.Error("goals are reached though a load failed")
	}
	for _, want := range []string{`slow +50 % +50 to 50 +neighbour +yes +yes +50 +yes +yes +NO +-`, `nothing +- +- +nothing +quiet`,
		`broken +failed: no server`, `cause first +1 of 1 +0 of 1`, `nothing worthwhile without a cause +1 of 1 +0 of 1`, `1 loads failed`,
		`1 loads began beside other work`} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

// A step that names what the bench did not start is never run.
func TestOurs(t *testing.T) {
	self, parent := os.Getpid(), os.Getppid()
	for command, want := range map[string]bool{
		fmt.Sprintf("sudo taskset --all-tasks --cpu-list --pid 0 %d", self):        true,
		fmt.Sprintf("sudo taskset --all-tasks --cpu-list --pid 0 %d", parent):      false,
		fmt.Sprintf("echo %d %d | sudo xargs -n1 chrt --idle", self, self):         true,
		fmt.Sprintf("echo %d %d | sudo xargs -n1 chrt --idle", self, parent):       false,
		fmt.Sprintf("echo 19 | sudo tee /proc/%d/autogroup", parent):               false,
		"echo 80000 | sudo tee /sys/fs/cgroup/cpu/causes-service/cpu.cfs_quota_us": true,
		"echo 80000 | sudo tee /sys/fs/cgroup/cpu/system.slice/cpu.cfs_quota_us":   false,
	} {
		if session, err := unix.Getsid(0); err == nil && session == parent {
			continue // its session is the bench's own
		}
		if ours(command) != want {
			t.Errorf("%s: %v", command, !want)
		}
	}
}
