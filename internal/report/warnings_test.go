package report

import (
	"math"
	"strings"
	"testing"

	"hostlab/internal/assess"
	"hostlab/internal/document"
	"hostlab/internal/lever"
	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

func disturbed(name, why string) result.Measurement {
	m := result.Measurement{Probe: "wakeup", Name: name, Unit: "ratio", NoiseFloor: math.NaN(),
		Estimate: &result.Estimate{Value: 1, Low: 0.9, High: 1.1, N: 9}}
	m.Labels.Disturbed = why
	return m
}

func TestBusyWarnings(t *testing.T) {
	const idle = "the CPU was not idle in 9 of 12 pauses"
	for name, tt := range map[string]struct {
		runs []probe.Outcome
		want []string
	}{
		"quiet": {[]probe.Outcome{{Probe: "wakeup", Title: "Wake-up", Warnings: []string{"4 rounds were measured again"},
			Measurements: []result.Measurement{disturbed("a", "")}}}, nil},
		"others ran": {[]probe.Outcome{{Probe: "degree", Busy: 0.12}},
			[]string{"This host was busy: the figures of the probes include the load of other work.",
				"degree: other work took 12 % of these CPUs' time"}},
		"disturbed": {[]probe.Outcome{{Probe: "wakeup", Title: "Wake-up",
			Measurements: []result.Measurement{disturbed("a", "others ran"), disturbed("b", idle), disturbed("c", idle),
				disturbed("d", "")}}}, []string{"This host was busy: the figures of the probes include the load of other work.",
			"Wake-up: " + idle + " (2 figures); disturbed likewise: 1 more figure"}},
	} {
		testkit.Same(t, tt.want, BusyWarnings(tt.runs), name)
	}
}

// The busy host is reported directly under the verdict, once.
func TestBusyUnderVerdict(t *testing.T) {
	runs := []probe.Outcome{{Probe: "degree", Title: "Degree", Busy: 0.12, Warnings: []string{"another note"}}}
	a := &Assessment{Runs: runs, Verdict: assess.Answer{Text: "Inconclusive."}, Levers: []lever.Lever{{Name: lever.Clock}}}
	var b strings.Builder
	testkit.OK(t, document.WriteText(&b, a.Document(), document.TextOptions{}))
	text := b.String()
	said, levers := strings.Index(text, "other work took 12 %"), strings.Index(text, "LEVERS")
	if said < 0 || said > levers || strings.Count(text, "other work took") != 1 ||
		!strings.Contains(text, "another note") {
		t.Errorf("the busy host is said at %d, levers at %d:\n%s", said, levers, text)
	}
	b.Reset()
	testkit.OK(t, document.WriteHTML(&b, a.Document()))
	page, _, _ := strings.Cut(testkit.Words(b.String()), "<script")
	if said, levers := strings.Index(page, "<li>Degree: other work took 12 %"),
		strings.Index(page, ">Levers</h2>"); said < 0 || said > levers {
		t.Errorf("the page tells of a busy host at %d, levers are at %d", said, levers)
	}
}

// The bound of a faster device is not that of the setting advised.
func TestBoundOfAnotherChange(t *testing.T) {
	share := 0.98
	bound := &lever.Bound{AtMost: &share, Of: "a commit's time", By: "any faster device", From: lever.Measured}
	l := lever.Lever{Name: lever.Log, Verdict: lever.Possible, Reason: lever.Recommended, AtMost: &share,
		Evidence: []lever.Evidence{{Source: lever.OfProbe, Bound: bound}}}
	var b strings.Builder
	testkit.OK(t, document.WriteText(&b, (&Assessment{Levers: []lever.Lever{l}}).Document(),
		document.TextOptions{}))
	for _, s := range []string{"98 %", "by any faster device, not by the recommended setting", "98 % of a commit's time"} {
		testkit.Has(t, strings.Join(strings.Fields(b.String()), " "), s, b.String())
	}
}

// No null in the document goes without its reason.
func TestNullsAreExplained(t *testing.T) {
	known := disturbed("commit.max", "")
	known.Kind = probe.NewBlocks.Of(probe.Longest)
	known.Estimate.Low, known.Estimate.High = math.NaN(), math.NaN()
	unknown := disturbed("siblings.harm.sibling", "")
	unknown.Estimate, unknown.Evidence, unknown.Reason = nil, result.Measured, "no two CPUs share a core"
	a := &Assessment{Probes: []result.Measurement{known, unknown},
		Levers: []lever.Lever{{Evidence: []lever.Evidence{{Measurement: &unknown}}}}}
	c := complete(a)
	if !strings.Contains(c.Probes[0].Reason, "maximum") || c.Probes[1].Evidence != "" ||
		c.Levers[0].Measurement().Evidence != "" {
		t.Errorf("got %+v and %+v", c.Probes, c.Levers[0].Measurement())
	}
	if unknown.Evidence != result.Measured || a.Probes[0].Reason != "" ||
		a.Levers[0].Measurement().Evidence != result.Measured {
		t.Error("the caller's measurements were changed")
	}
}
