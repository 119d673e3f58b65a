package main

import (
	"bytes"
	"strings"
	"testing"

	"hostlab/bench/verdicts/noise"
)

// The targets, on a few models and with few experiments: one fails here only when
// it is missed by more than the binomial error of those few. `go run
// ./bench/verdicts` has all of them. The seed is fixed, so that it fails always or
// never.
func TestVerdictsHold(t *testing.T) {
	all, err := loadModels()
	if err != nil {
		t.Fatal(err)
	}
	m := models{madeUp: all.named("white", "drift", "all"), scaled: all.named("quiet/gzip to 2%", "busy/commit to 2%")}
	const times = 120
	for _, s := range sections {
		if s.name == "fewer" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			var out bytes.Buffer
			targets := s.run(&out, m, times, 7)
			for _, target := range targets {
				if target.share.n != times {
					t.Errorf("%s: %d experiments, want %d", target.name, target.share.n, times)
				}
				if target.missed() {
					t.Error(target)
				}
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// A host that drifts must mislead the peers, which run all of A before B, and a host
// without any drift must not: else the comparison is rigged.
func TestFewerIsFair(t *testing.T) {
	var out bytes.Buffer
	all, err := loadModels()
	if err != nil {
		t.Fatal(err)
	}
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
	if _, err := run(&bytes.Buffer{}, 100, 1, "nonsense"); err == nil {
		t.Error("no error for a table that is not there")
	}
}
