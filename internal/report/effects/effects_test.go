package effects_test

import (
	"bytes"
	"encoding/csv"
	"io"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"hostlab/internal/report/effects"
	"hostlab/internal/report/reporttest/experiments"
	"hostlab/internal/testkit"
)

func set(reports ...effects.Report) *effects.Set {
	return &effects.Set{Reports: reports, Version: "v0.2.0"}
}

// samples are sets to report on, by name.
var samples = map[string]func() *effects.Set{
	"gzip":           func() *effects.Set { return set(experiments.Gzip()) },
	"null":           func() *effects.Set { return set(experiments.Null()) },
	"adjusted":       func() *effects.Set { return set(experiments.Adjusted()) },
	"live":           func() *effects.Set { return set(experiments.Live()) },
	"harmed":         func() *effects.Set { return set(experiments.Harmed()) },
	"noisy":          func() *effects.Set { return set(experiments.Noisy()) },
	"running":        func() *effects.Set { return set(experiments.Running()) },
	"failing":        func() *effects.Set { return set(experiments.Failing()) },
	"stalls":         func() *effects.Set { return set(experiments.Stalls()) },
	"power":          func() *effects.Set { return set(experiments.Power()) },
	"splitplot":      func() *effects.Set { return set(experiments.SplitPlot()) },
	"query":          func() *effects.Set { return set(experiments.Query()) },
	"dialog":         func() *effects.Set { return set(experiments.Dialog()) },
	"degree":         func() *effects.Set { return set(experiments.Degree()) },
	"newer":          func() *effects.Set { return set(experiments.Newer()) },
	"smt-harm":       func() *effects.Set { return set(experiments.SMTHarm()) },
	"smt-none":       func() *effects.Set { return set(experiments.SMTNone()) },
	"smt-noisy":      func() *effects.Set { return set(experiments.SMTNoisy()) },
	"smt-untestable": func() *effects.Set { return set(experiments.SMTUntestable()) },
	"smt-one-core":   func() *effects.Set { return set(experiments.SMTOneCore()) },
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

// formats are all of them.
func formats() map[string]func(io.Writer, *effects.Set) error {
	out := maps.Clone(texts)
	out["json"] = effects.WriteJSON
	for _, f := range effects.Formats {
		out[f.Name] = f.Write
	}
	return out
}

// TestHostileTextStaysText puts names that steer a terminal, or that a spreadsheet computes,
// wherever others choose the text of a record.
func TestHostileTextStaysText(t *testing.T) {
	for _, name := range append([]string{"=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", " =1"}, testkit.Hostile...) {
		r := experiments.Others()
		x := r.Analysis.Experiment
		x.Name, x.Title, x.Workload, x.File = name, name, name, name
		x.Host["hostname"], x.Host["cpu"] = name, name
		r.Dir, r.Warnings, r.Study = name, []string{name}, []byte(name)
		for i := range r.Runs {
			r.Runs[i].Reason, r.Runs[i].Contaminated = name, "-1.5"
		}
		for format, write := range formats() {
			out := written(t, set(r), write)
			text := strings.ReplaceAll(string(out), "\r\n", "\n")
			if format != "json" && strings.ContainsFunc(text, func(r rune) bool {
				return r != '\n' && r != '\t' && unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r)
			}) {
				t.Errorf("%s: %q is not clean", format, name)
			}
			if format == "json" && bytes.ContainsAny(out, "\x1b\x07") {
				t.Errorf("json: %q is raw", name)
			}
			if format != "csv" {
				continue
			}
			rows, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			numbers := 0
			for _, row := range rows {
				for _, cell := range row {
					if cell == "-1.5" {
						numbers++
						continue
					}
					if first := strings.TrimSpace(cell); first != "" && strings.ContainsRune("=+-@", rune(first[0])) {
						if _, err := strconv.ParseFloat(cell, 64); err != nil {
							t.Fatalf("csv: a formula: %q", cell)
						}
					}
				}
			}
			if numbers == 0 {
				t.Error("csv: -1.5 is no number any more")
			}
		}
	}
}

func written(t testing.TB, s *effects.Set, write func(io.Writer, *effects.Set) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }
