package effects_test

import (
	"bytes"
	"io"
	"reflect"
	"testing"

	"hostlab/internal/report/effects"
	"hostlab/internal/report/reporttest/experiments"
)

func set(reports ...effects.Report) *effects.Set {
	return &effects.Set{Reports: reports, Version: "v0.2.0"}
}

// samples are sets to report on, by name.
var samples = map[string]func() *effects.Set{
	"gzip":           func() *effects.Set { return set(experiments.Gzip()) },
	"null":           func() *effects.Set { return set(experiments.Null()) },
	"noisy":          func() *effects.Set { return set(experiments.Noisy()) },
	"running":        func() *effects.Set { return set(experiments.Running()) },
	"void":           func() *effects.Set { return set(experiments.Void()) },
	"failing":        func() *effects.Set { return set(experiments.Failing()) },
	"stalls":         func() *effects.Set { return set(experiments.Stalls()) },
	"power":          func() *effects.Set { return set(experiments.Power()) },
	"splitplot":      func() *effects.Set { return set(experiments.SplitPlot()) },
	"query":          func() *effects.Set { return set(experiments.Query()) },
	"dialog":         func() *effects.Set { return set(experiments.Dialog()) },
	"degree":         func() *effects.Set { return set(experiments.Degree()) },
	"newer":          func() *effects.Set { return set(experiments.Newer()) },
	"smt-caches":     func() *effects.Set { return set(experiments.SMTCaches()) },
	"smt-slots":      func() *effects.Set { return set(experiments.SMTSlots()) },
	"smt-none":       func() *effects.Set { return set(experiments.SMTNone()) },
	"smt-noisy":      func() *effects.Set { return set(experiments.SMTNoisy()) },
	"smt-untestable": func() *effects.Set { return set(experiments.SMTUntestable()) },
	"smt-one-core":   func() *effects.Set { return set(experiments.SMTOneCore()) },
	"smt-void":       func() *effects.Set { return set(experiments.SMTVoid()) },
	"smt-alike":      func() *effects.Set { return set(experiments.SMTAlike()) },
	"smt-empty":      func() *effects.Set { return set(experiments.SMTEmpty()) },
	"paused":         func() *effects.Set { return set(experiments.Paused()) },
	"empty":          func() *effects.Set { return set(experiments.Empty()) },
	"hostile":        func() *effects.Set { return set(experiments.Hostile()) },
	"large":          func() *effects.Set { return set(experiments.Large(9000)) },
	"compared": func() *effects.Set {
		s := set(experiments.Gzip(), experiments.Others())
		return s
	},
}

// texts are the formats for people.
var texts = map[string]func(io.Writer, *effects.Set) error{"html": effects.WriteHTML, "markdown": effects.WriteMarkdown,
	"text": func(w io.Writer, s *effects.Set) error { return effects.WriteText(w, s, effects.Options{}) }}

func written(t testing.TB, s *effects.Set, write func(io.Writer, *effects.Set) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }
