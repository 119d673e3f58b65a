package workloadtest

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/workload"
)

// getters are the Go types of the kinds.
var getters = map[workload.Kind]func(workload.Values, string) any{
	workload.String:   func(v workload.Values, n string) any { return v.String(n) },
	workload.Int:      func(v workload.Values, n string) any { return v.Int(n) },
	workload.Float:    func(v workload.Values, n string) any { return v.Float(n) },
	workload.Bool:     func(v workload.Values, n string) any { return v.Bool(n) },
	workload.Duration: func(v workload.Values, n string) any { return v.Duration(n) },
	workload.Bytes:    func(v workload.Values, n string) any { return v.Int(n) },
	workload.List:     func(v workload.Values, n string) any { return v.List(n) },
	workload.Table:    func(v workload.Values, n string) any { return v.Table(n) },
}

// samples are values of required parameters.
var samples = map[workload.Kind]any{
	workload.String: "x", workload.Int: int64(1), workload.Float: 1.0, workload.Bool: true, workload.Duration: time.Second,
	workload.Bytes: int64(4096), workload.List: []string{"x"}, workload.Table: map[string]string{"a": "b"},
}

// description: complete, and every default passes as TOML would hold it and as
// text.
func description(t *testing.T, w workload.Workload) {
	d := w.Describe()
	for what, text := range map[string]string{"name": d.Name, "title": d.Title, "about": d.About} {
		if text == "" || strings.ContainsAny(text, "\n\t") {
			t.Errorf("%s is %q", what, text)
		}
	}
	seen := map[string]bool{}
	given := map[string]any{}
	for _, p := range d.Params {
		t.Run(p.Name, func(t *testing.T) {
			if seen[p.Name] || p.Name == "" || p.Help == "" || strings.Contains(p.Help, "\n") {
				t.Errorf("twice, or without help: %+v", p)
			}
			seen[p.Name] = true
			value := p.Default
			if p.Required {
				if value != nil {
					t.Error("required, and has a default")
				}
				value = samples[p.Kind]
				given[p.Name] = value
			}
			get := getters[p.Kind]
			if get == nil {
				t.Fatalf("unknown kind %q", p.Kind)
			}
			// panics when the type is another
			if diff := cmp.Diff(value, get(workload.Values{p.Name: value}, p.Name)); diff != "" {
				t.Error(diff)
			}
			text := workload.Text(p, value)
			back, err := workload.ParseText(p, text)
			if err != nil || workload.Text(p, back) != text {
				t.Errorf("%v as text is %q, and that is %v, %v", value, text, back, err)
			}
			if p.Kind == workload.String && len(p.Choices) == 0 && (p.Min != 0 || p.Max != 0) {
				t.Error("a text with a range")
			}
		})
	}
	got, err := workload.Check(d, given)
	if err != nil {
		t.Fatalf("its own defaults do not pass: %v", err)
	}
	given = map[string]any(maps.Clone(got))
	if _, err := workload.Check(d, given); err != nil {
		t.Errorf("checked values do not pass again: %v", err)
	}
	if len(d.Responses) == 0 {
		t.Error("no responses")
	}
	names := map[string]bool{}
	for _, r := range d.Responses {
		if names[r.Name] || r.Name == "" || r.Title == "" || !slices.Contains([]string{"lower", "higher"}, r.Better) ||
			!slices.Contains([]string{"", "s", "B", "1/s", "B/s", "Hz", "J"}, r.Unit) {
			t.Errorf("response %+v: want a name of its own, a title, a base unit, and lower or higher", r)
		}
		names[r.Name] = true
	}
}
