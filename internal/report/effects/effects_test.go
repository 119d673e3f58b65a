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
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/pages"
)

func set(reports ...effects.Report) *effects.Set {
	return &effects.Set{Reports: reports, Version: "v0.2.0"}
}

// samples are sets to report on, by name.
var samples = map[string]func() *effects.Set{
	"gzip":           func() *effects.Set { return set(pages.Gzip()) },
	"null":           func() *effects.Set { return set(pages.Null()) },
	"adjusted":       func() *effects.Set { return set(pages.Adjusted()) },
	"live":           func() *effects.Set { return set(pages.Live()) },
	"harmed":         func() *effects.Set { return set(pages.Harmed()) },
	"noisy":          func() *effects.Set { return set(pages.Noisy()) },
	"running":        func() *effects.Set { return set(pages.Running()) },
	"failing":        func() *effects.Set { return set(pages.Failing()) },
	"stalls":         func() *effects.Set { return set(pages.Stalls()) },
	"power":          func() *effects.Set { return set(pages.Power()) },
	"splitplot":      func() *effects.Set { return set(pages.SplitPlot()) },
	"query":          func() *effects.Set { return set(pages.Query()) },
	"dialog":         func() *effects.Set { return set(pages.Dialog()) },
	"degree":         func() *effects.Set { return set(pages.Degree()) },
	"newer":          func() *effects.Set { return set(pages.Newer()) },
	"smt-harm":       func() *effects.Set { return set(pages.SMTHarm()) },
	"smt-none":       func() *effects.Set { return set(pages.SMTNone()) },
	"smt-noisy":      func() *effects.Set { return set(pages.SMTNoisy()) },
	"smt-untestable": func() *effects.Set { return set(pages.SMTUntestable()) },
	"smt-one-core":   func() *effects.Set { return set(pages.SMTOneCore()) },
	"smt-alike":      func() *effects.Set { return set(pages.SMTAlike()) },
	"smt-empty":      func() *effects.Set { return set(pages.SMTEmpty()) },
	"paused":         func() *effects.Set { return set(pages.Paused()) },
	"empty":          func() *effects.Set { return set(pages.Empty()) },
	"hostile":        func() *effects.Set { return set(pages.Hostile()) },
	"large":          func() *effects.Set { return set(pages.Large(9000)) },
	"compared": func() *effects.Set {
		s := set(pages.Gzip(), pages.Others())
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
		r := pages.Others()
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
			rows := testkit.Must(csv.NewReader(bytes.NewReader(out)).ReadAll())(t)
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
	testkit.OK(t, write(&b, s))
	return b.Bytes()
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }
