package check

import (
	"fmt"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

func TestFind(t *testing.T) {
	for id, want := range map[string]string{"pwr-001": "PWR-001", " PWR-001 ": "PWR-001",
		"PWR-01": "did you mean PWR-001?", "nothing at all": `unknown check "nothing at all"; `} {
		c, err := Find(id)
		if got := c.ID + fmt.Sprint(err); !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
}

func TestWorst(t *testing.T) {
	r := func(s Status, severity Severity) Result { return Result{Status: s, Severity: severity} }
	for _, c := range []struct {
		name    string
		results []Result
		want    Severity
		found   bool
	}{
		{"nothing", nil, Info, false},
		{"only good ones", []Result{r(OK, High), r(Unknown, High), r(NotApplicable, High)}, Info, false},
		{"info counts", []Result{r(Finding, Info)}, Info, true},
		{"the worst", []Result{r(Finding, Low), r(Finding, Medium), r(OK, High)}, Medium, true},
	} {
		if got, found := Worst(c.results); got != c.want || found != c.found {
			t.Errorf("%s: %s, %v", c.name, got, found)
		}
	}
}

func TestRunKeepsOrderAndTexts(t *testing.T) {
	results := Run(&host.Facts{}, ProductionApp, All())
	for i, c := range All() {
		r := results[i]
		if r.ID != c.ID || r.Why != c.Why || r.Source != c.Source || r.Disagree != c.Disagree || r.Subject != c.Subject {
			t.Errorf("%s became %+v", c.ID, r)
		}
	}
}

func TestCompact(t *testing.T) {
	for _, c := range []struct{ in, want []string }{
		{nil, nil},
		{[]string{"/a/b"}, []string{"/a/b"}},
		{[]string{"/c/policy9/g", "/c/policy10/g", "/c/policy11/g"}, []string{"/c/policy{9-11}/g"}},
		{[]string{"/c/cpu0/g", "/c/cpu2/g"}, []string{"/c/cpu{0,2}/g"}},
		{[]string{"/b/nvme0n1/q", "/b/nvme12n1/q"}, []string{"/b/nvme{0,12}n1/q"}},
		{[]string{"/b/nvme0n1/q", "/b/nvme0n2/q"}, []string{"/b/nvme0n{1-2}/q"}},
		{[]string{"/b/sda/q", "/b/sdab/q", "/b/nvme0n1/q"}, []string{"/b/{sda,sdab,nvme0n1}/q"}},
		{[]string{"/a/x/1", "/b/x/2"}, []string{"/a/x/1", "/b/x/2"}},
		{[]string{"/a/1/x", "/a/2/x", "/a/1/y"}, []string{"/a/{1-2}/x", "/a/1/y"}},
		{[]string{"call", "other"}, []string{"call", "other"}},
	} {
		testkit.Same(t, c.want, compact(c.in), c.in)
	}
}

func TestDisplay(t *testing.T) {
	for _, c := range []struct {
		v    any
		unit string
		want string
	}{
		{int64(2401000000), "Hz", "2.401 GHz"},
		{int64(3529052000), "Hz", "3.529052 GHz"},
		{int64(629145600), "B", "629145600 B (600 MiB)"},
		{int64(512), "B", "512 B"},
		{int64(30), "%", "30 %"},
		{133e-6, "s", "133 us"},
		{2e3, "s", "2000 s"},
		{0.0, "s", "0 us"},
		{4.5e-3, "s", "4.5 ms"},
		{true, "", "1"},
		{"", "", "(empty)"},
		{host.Choice{Active: "b", Offers: []string{"a", "b"}}, "", "a [b]"},
		{[]int{0, 1, 2, 5}, "", "0-2,5"},
		{uint64(18446744073709551615), "", "18446744073709551615"},
	} {
		testkit.Is(t, c.want, display(c.v, c.unit), "display", c.v, c.unit, ") =")
	}
}

// The commands for a host that was recorded have none of the numbers that its processes had then.
func TestElsewhere(t *testing.T) {
	f := &host.Facts{Databases: []host.Database{{Kind: "postgresql", PID: 306}, {Kind: "redis"}}}
	results := []Result{{Remedy: "echo -1000 | sudo tee /proc/306/oom_score_adj"}, {Remedy: "taskset -pc 306"},
		{Remedy: "cat /proc/3060/status"}, {Remedy: "sysctl vm.x=306"}}
	Elsewhere(f, results)
	for i, want := range []string{"tee /proc/PID/oom_score_adj\n# PID: that of postgresql, which was 306 when", "taskset -pc PID\n# PID: ",
		"/proc/3060/", "=306"} {
		testkit.Has(t, results[i].Remedy, want)
	}
}
