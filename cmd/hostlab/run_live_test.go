package main

import (
	"bytes"
	"strings"
	"testing"

	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

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
