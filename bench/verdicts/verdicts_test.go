package main

import (
	"bytes"
	"strings"
	"testing"

	"hostlab/bench/verdicts/noise"
	"hostlab/internal/testkit"
)

// The targets, on a few models and with few experiments: one fails here only when
// it is missed by more than the binomial error of those few. `go run
// ./bench/verdicts` has all of them. The seed is fixed, so that it fails always or
// never.
func TestVerdictsHold(t *testing.T) {
	all := testkit.Must(loadModels())(t)
	m := models{madeUp: all.named("white", "drift", "all"), scaled: all.named("quiet/gzip to 2%", "busy/commit to 2%")}
	const times = 60
	for _, s := range sections {
		if s.name == "fewer" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			var out bytes.Buffer
			targets := s.run(&out, m, times, 7)
			for _, target := range targets {
				testkit.Is(t, times, target.share.n, target.name)
				if target.missed() && !known(target.name) {
					t.Error(target)
				}
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// known reports a target that is known to be missed, as docs/figures.md says.
func known(name string) bool {
	return strings.HasPrefix(name, "called no effect or less, h") && !strings.HasSuffix(name, ", 5 %") || name == "none is found, ar1, 0 %"
}

// A host that drifts must mislead the peers, which run all of A before B, and a host
// without any drift must not: else the comparison is rigged.
func TestFewerIsFair(t *testing.T) {
	var out bytes.Buffer
	all := testkit.Must(loadModels())(t)
	fewer(&out, models{madeUp: all.named("white")}, 200, 3)
	if text := out.String(); strings.Contains(text, "none;") || strings.Count(text, "as documented") != 3 {
		t.Errorf("on white noise every peer must do at some size:\n%s", text)
	}
	m := noise.Model{Name: "steep", Series: all.named("drift")[0].Series}
	out.Reset()
	fewer(&out, models{madeUp: []noise.Model{m}}, 200, 3)
	if !strings.Contains(out.String(), "none") {
		t.Errorf("no peer fails under drift:\n%s", out.String())
	}
}

func TestRunRefusesUnknownTables(t *testing.T) {
	for _, only := range []string{"nonsense", "false,typo", "false,"} {
		if _, err := run(&bytes.Buffer{}, 100, 1, only); err == nil || !strings.Contains(err.Error(), "noise, laws, false, power") {
			t.Errorf("-only %s: %v", only, err)
		}
	}
}

// A figure without a target is shown, says why, and counts neither as met nor as missed.
func TestSummaryShowsWhatHasNoTarget(t *testing.T) {
	var out bytes.Buffer
	missed := summary(&out, []target{
		{name: "found, noisy", share: share{10, 100}, bound: 0.95, least: true, scatter: "9 %, 20 %"},
		{name: "found, white", share: share{99, 100}, bound: 0.95, least: true},
		{name: "interval covers, white", share: share{96, 100}, bound: 0.95, least: true},
	})
	text := out.String()
	if missed || !strings.Contains(text, "2 of 2 targets met; 1 more figure") || !strings.Contains(text, "no target; scatter 9 %, 20 %") || !strings.HasPrefix(text, "\n== targets\ninterval covers") {
		t.Errorf("missed %v:\n%s", missed, text)
	}
}
