package runner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hostlab/internal/experiment"
	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// A run that stays disturbed is tried once more than retries says, and then counts,
// marked; the warm-up is not repeated for it.
func TestExhaustedMarks(t *testing.T) {
	guard := "[guard]\nmax_foreign_cpu = \"3%\"\nexhausted = \"mark\"\n"
	b := newBench(t, head(6, "")+levelFactor+nullWorkload+guard)
	b.under = func(n int) conditions {
		c := conditions{known: true, throttles: -1}
		if n < 8 {
			c.Taken = proc.Taken{Foreign: 0.1}
		}
		return c
	}
	testkit.OK(t, b.run())
	b.complete()
	want := []string{"0.0:void", "0.0:void", "0.1:void", "0.1:void", "0.1:ok", "0.0:ok", "1.0:void", "1.1:ok", "1.0:ok"}
	testkit.Same(t, want, b.statuses()[:9])
	r := b.record()
	for i, marked := range []bool{true, false, false, false, false, true, true, false, false, false} { // 0 is the warm-up
		if run := r.Runs[i]; (run.Contaminated != "") != marked || marked &&
			(run.Reason != "" || !strings.Contains(run.Contaminated, "above max_foreign_cpu 3 %")) {
			t.Errorf("run %d: reason %q, contaminated %q", i, run.Reason, run.Contaminated)
		}
	}
}

// A run that failed after others were void is no reason to stop: only as many
// failures are as retries allows.
func TestExhaustedAndFailed(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+strings.Replace(nullWorkload, "warmup = 1", "warmup = 0\nfail = 5", 1)+
		"[guard]\nmax_foreign_cpu = \"3%\"\nexhausted = \"mark\"\n")
	b.under = func(n int) conditions {
		c := conditions{known: true, throttles: -1}
		if n < 10 {
			c.Taken = proc.Taken{Foreign: 0.1}
		}
		return c
	}
	testkit.OK(t, b.run())
	failed := 0
	for _, r := range b.record().Runs {
		if r.Status == result.Failed && r.Block == 0 {
			failed++
		}
	}
	if failed == 0 {
		t.Error("none failed among those that were void")
	}
	b.complete()
}

// Without it the experiment stops.
func TestExhaustedStops(t *testing.T) {
	b := newBench(t, head(6, "")+levelFactor+strings.Replace(nullWorkload, "warmup = 1", "warmup = 0", 1)+
		"[guard]\nmax_foreign_cpu = \"3%\"\n")
	b.under = func(int) conditions {
		return conditions{known: true, throttles: -1, Taken: proc.Taken{Foreign: 0.1}}
	}
	b.fails(b.run(), "was void or failed 3 times", "max_foreign_cpu")
}

// What the workload doubts is void, whatever the guard limits, and is marked as what
// the guard finds is; a host that changed is never only marked.
func TestDoubt(t *testing.T) {
	limit := 0.03
	for name, c := range map[string]struct {
		mark        bool
		attempt     int
		doubt, host string
		foreign     float64
		want        result.Run
	}{
		"none": {want: result.Run{Status: result.OK}},
		"void": {doubt: "the CPUs moved", want: result.Run{Status: result.Void, Reason: "the CPUs moved"}},
		"guard first": {doubt: "the CPUs moved", foreign: 0.1,
			want: result.Run{Status: result.Void, Reason: "other processes took 10 % of the CPUs, above max_foreign_cpu 3 %"}},
		"not exhausted": {mark: true, attempt: 2, doubt: "the CPUs moved",
			want: result.Run{Status: result.Void, Reason: "the CPUs moved"}},
		"exhausted": {mark: true, attempt: 3, doubt: "the CPUs moved",
			want: result.Run{Status: result.OK, Contaminated: "the CPUs moved"}},
		"another kernel": {mark: true, attempt: 3, doubt: "the CPUs moved", host: "6.2",
			want: result.Run{Status: result.Void, Reason: "the host changed, in what guard.fingerprint lists: kernel"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &session{levels: &levels{}, x: &result.Experiment{Host: map[string]string{"kernel": "6.1"}},
				study: &experiment.Study{Guard: experiment.Guard{MaxForeignCPU: &limit, Mark: c.mark,
					Fingerprint: []string{"kernel"}}, Workload: experiment.Workload{Retries: 2}},
				sys: &system{fingerprint: func([]string) map[string]string {
					if c.host != "" {
						return map[string]string{"kernel": c.host}
					}
					return map[string]string{"kernel": "6.1"}
				}}}
			r := &result.Run{Status: result.OK, Attempt: c.attempt}
			s.guard(t.Context(), r, conditions{known: true, Taken: proc.Taken{Foreign: c.foreign}}, nil, c.doubt)
			if r.Status != c.want.Status || !strings.HasPrefix(r.Reason, c.want.Reason) ||
				(r.Reason == "") != (c.want.Reason == "") || r.Contaminated != c.want.Contaminated {
				t.Errorf("%s, %q, contaminated %q; want %s, %q, %q", r.Status, r.Reason, r.Contaminated, c.want.Status,
					c.want.Reason, c.want.Contaminated)
			}
		})
	}
}

// cpus is a machine of cores with threads each that share one cache.
func cpus(cores, threads int) workload.Machine {
	t := &host.Topology{}
	l3 := host.Cache{Level: 3, Type: "Unified", Size: host.Known(int64(8<<20), "B", "")}
	for cpu := range cores * threads {
		var core []int
		for i := range threads {
			core = append(core, cpu%cores+i*cores)
		}
		t.CPUs = append(t.CPUs, host.CPU{ID: cpu, Siblings: host.Known(core, "", ""), Socket: host.Known(0, "", "")})
		l3.CPUs = append(l3.CPUs, cpu)
	}
	t.Caches = []host.Cache{l3}
	return workload.Machine{Topology: t}
}

// A resume takes from the record what was measured, and refuses a machine that has
// other levels or places than then.
func TestRefit(t *testing.T) {
	text := head(8, "") +
		"[[factor]]\nname = \"scanner\"\nparameter = \"scanner\"\nlevels = [\"none\", \"core\", \"sibling\"]\n[workload]\nname = \"scanlock\"\n"
	s := parse(t, t.TempDir(), text)
	fit := func(m workload.Machine) *result.Experiment {
		st := testkit.Must(experiment.Fit(s, m, nil))(t)
		return experiment.Head(st)
	}
	hidden := cpus(4, 1)
	hidden.Measured = [][2]int{{0, 2}}
	for name, c := range map[string]struct {
		then, now workload.Machine
		diff      string
	}{
		"the same":            {cpus(2, 2), cpus(2, 2), ""},
		"measured once":       {hidden, cpus(4, 1), ""},
		"siblings turned off": {cpus(2, 2), cpus(2, 1), "+no scanner sibling: no CPU shares a core with CPU 0"},
		"siblings turned on":  {cpus(2, 1), cpus(2, 2), "-no scanner sibling: no CPU shares a core with CPU 0"},
		"numbered otherwise":  {cpus(2, 2), cpus(3, 2), "-scanner sibling: CPU 2\n+scanner sibling: CPU 3"},
	} {
		t.Run(name, func(t *testing.T) {
			x := fit(c.then)
			got, err := refit(x, s, c.now, nil)
			changed, refused := errors.AsType[*Changed](err)
			switch {
			case refused != (c.diff != ""):
				t.Fatalf("got %v", err)
			case refused && !strings.Contains(changed.Diff, c.diff):
				t.Errorf("diff:\n%swant %s", changed.Diff, c.diff)
			case !refused && fmt.Sprint(experiment.Head(got).Cells) != fmt.Sprint(x.Cells):
				t.Errorf("cells %v, then %v", experiment.Head(got).Cells, x.Cells)
			}
		})
	}
}

// picky is a workload that takes reserved pages at one of its levels.
type picky struct{ workload.Workload }

func (picky) Lacks(p workload.Params, _ host.Tree) string {
	if fmt.Sprint(workload.Value(p, "scanner")) == "core" {
		return "no page is reserved"
	}
	return ""
}

// What a host lacks for a level of a parameter is found before anything runs.
func TestLacks(t *testing.T) {
	s := parse(t, t.TempDir(), head(8, "")+
		"[[factor]]\nname = \"scanner\"\nparameter = \"scanner\"\nlevels = [\"none\", \"core\", \"same\"]\n[workload]\nname = \"scanlock\"\n")
	s.Work = picky{s.Work}
	testkit.Same(t, map[string]string{"core": "no page is reserved"}, Look(s, s.Factors[0]).Lacks)
}
