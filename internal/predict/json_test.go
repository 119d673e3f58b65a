package predict_test

import (
	"bytes"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"

	"hostlab/internal/document"
	"hostlab/internal/model"
	"hostlab/internal/predict"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/conform"
	"hostlab/internal/testkit/schemas"
)

// cases covers each part of the document: open and closed, refused, bounded, a map.
func cases(t *testing.T) map[string]*predict.Answer {
	t.Helper()
	if asked != nil {
		return asked
	}
	guest := ask(t, "sap", "sap-dialog", []string{"schedutil"}, []float64{0.2})
	guest.Machine.System, guest.Machine.HostDecides = model.Linux,
		&predict.HostDecides{Hypervisor: "kvm", Ask: []string{"Which governor?"}}
	asked = map[string]*predict.Answer{
		"guest": guest,
		"open": ask(t, "sap", "sap-dialog", []string{"balanced", "power-saver", "hwp", "powersave"},
			[]float64{0.05, 0.9}),
		"closed": ask(t, "olontsev", "olontsev", []string{"ondemand"}, nil),
		"commit": ask(t, "amd", "log-commit", []string{"schedutil"}, nil),
		"bound":  ask(t, "sap", "sap-dialog", []string{"hwp"}, []float64{0.2}),
		"self":   ask(t, "sap", "sap-dialog", []string{"high-performance"}, []float64{0.2}),
	}
	return asked
}

// asked are the answers of cases, once they have been asked for.
var asked map[string]*predict.Answer

// TestAnswerFirst: what a policy costs comes before who decides on it.
func TestAnswerFirst(t *testing.T) {
	a := cases(t)["guest"].Document().Answer
	first, last := a[0].Text, a[len(a)-1].Text
	if !strings.Contains(first, "would take") || !strings.HasPrefix(last, "The hypervisor's host decides") {
		t.Errorf("%s\n%s", first, last)
	}
}

// TestOneScreen: without --all an answer takes one screen, and a small terminal shows it at the end, too.
func TestOneScreen(t *testing.T) {
	crowded, long := *cases(t)["open"], strings.Repeat("A warning. ", 20)
	crowded.Machine.HostDecides = &predict.HostDecides{Hypervisor: "kvm", Ask: []string{long, long, long}}
	crowded.Warnings = []string{long, long, long, long, long, long}
	all := maps.Clone(cases(t))
	all["crowded"] = &crowded
	for name, a := range all {
		var b bytes.Buffer
		o := document.TextOptions{Width: document.ScreenColumns, Rows: document.Rows}
		testkit.OK(t, document.WriteText(&b, a.Brief(), o))
		text := b.String()
		if n := document.Folded(text, o.Width); n > document.ScreenLines {
			t.Errorf("%s: %d lines:\n%s", name, n, text)
		}
		first, _, _ := strings.Cut(text, "\n")
		if small := strings.Count(text, "\n") < document.Rows; !small && strings.Count(text, first+"\n") != 2 {
			t.Errorf("%s: the answer is not first and last:\n%s", name, text)
		}
		testkit.Has(t, text, "hostlab run", name)
		testkit.Has(t, text, "--all prints", name)
	}
}

func TestJSONSchema(t *testing.T) {
	type plainEstimate result.Estimate // without its own JSON, which is null where it is unknown
	type distribution struct {
		Kind   model.DistKind `json:"kind"`
		Mean   float64        `json:"mean"`
		CV     float64        `json:"cv,omitempty"`
		Values int            `json:"values,omitempty"`
	}
	schemas.Schema{Title: "hostlab predict --format json",
		Description: "What power policies would cost a workload, simulated. Base units: seconds, hertz, joules, watts, shares of 1. " +
			"null is what is not known or not finite, never 0.",
		Forms: []any{predict.Data{Kind: "predict", Schema: predict.Schema}}, Unknown: true,
		Words:  map[reflect.Type][]any{reflect.TypeFor[result.Evidence](): {result.Simulated}},
		Shapes: map[reflect.Type]any{reflect.TypeFor[result.Estimate](): plainEstimate{}, reflect.TypeFor[model.Dist](): distribution{}},
	}.Equal(t, "predict.schema.json")
	for name, a := range cases(t) {
		var b bytes.Buffer
		testkit.OK(t, document.WriteJSON(&b, a.Data()))
		conform.To(t, "predict.schema.json", b.Bytes(), name)
	}
}

// TestCells holds what scripts rely on: a cell for each policy, load and response,
// with a ratio whose interval holds its mean.
func TestCells(t *testing.T) {
	a := cases(t)["open"]
	d := a.Data()
	seen := map[[3]string]predict.Cell{}
	for _, c := range d.Cells {
		if !(c.Load > 0 && c.Load < 1) || c.Estimate.N < 2 {
			t.Errorf("%+v", c)
		}
		load := "low"
		if c.Load > 0.5 {
			load = "high"
		}
		seen[[3]string{c.Policy + string(c.Bound), load, string(c.Response)}] = c
		if r := c.Ratio; r.Known() && !(r.Low <= r.Value && r.Value <= r.High) {
			t.Errorf("%+v: ratio %v %v %v", c, r.Low, r.Value, r.High)
		}
	}
	cpu, ok := seen[[3]string{"balanced-rs1", "low", "cpu_seconds"}]
	if !ok || cpu.Estimate.Unit != "s" || cpu.Ratio.Value < 1.7 || cpu.Ratio.Value > 1.85 {
		t.Errorf("CPU seconds of balanced-rs1 at 5 %%: %+v", cpu)
	}
	if r := seen[[3]string{"high-performance", "low", "step_time"}].Ratio; r.Value != 1 || r.Low != 1 || r.High != 1 {
		t.Errorf("the baseline's ratio to itself is %v", r.Value)
	}
	low, high := seen[[3]string{"hwplowest frequency", "low", "step_time"}],
		seen[[3]string{"hwphighest frequency", "low", "step_time"}]
	if !(low.Estimate.Value > high.Estimate.Value) {
		t.Errorf("the bounds of hwp are %v and %v", low.Estimate, high.Estimate)
	}
	refused := map[string]bool{}
	for _, r := range d.Refused {
		refused[r.Policy] = true
	}
	if !refused["power-saver"] || !refused["powersave"] || refused["balanced-rs1"] {
		t.Errorf("refused: %v", refused)
	}
}

func TestAskRefuses(t *testing.T) {
	for name, change := range map[string]func(*predict.Question){
		"load of 100 %:":       func(q *predict.Question) { q.Loads = []float64{1} },
		"load of 1e-09:":       func(q *predict.Question) { q.Loads = []float64{1e-9} },
		"load of NaN:":         func(q *predict.Question) { q.Loads = []float64{math.NaN()} },
		"load of -0.1:":        func(q *predict.Question) { q.Loads = []float64{-0.1} },
		"replications is 1;":   func(q *predict.Question) { q.Options.Replications = 1 },
		"needs a load":         func(q *predict.Question) { q.Loads = nil },
		"closed, so its load":  func(q *predict.Question) { q.Workload.Users = 5 },
		"slice: the mean is 0": func(q *predict.Question) { q.Workload.Slice = model.Dist{} },
		"load 0.9 is too much": func(q *predict.Question) { q.Baseline, q.Loads = parse(t, "power-saver"), []float64{0.9} },
	} {
		q := question(t, "sap", "sap-dialog", []string{"balanced"}, []float64{0.3})
		change(&q)
		if _, err := predict.Ask(t.Context(), q, nil); err == nil || !bytes.Contains([]byte(err.Error()), []byte(name)) {
			t.Errorf("%v, expected %q", err, name)
		}
	}
}
