package workloadtest

import (
	"slices"
	"strings"
	"testing"

	"hostlab/internal/workload"
	"hostlab/studies"
)

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
	help := studies.Help(d.Name)
	for _, p := range d.List() {
		if seen[p.Name] || p.Name == "" || help[p.Name] == "" {
			t.Errorf("twice, or without help in the schema of studies: %+v", p)
		}
		if given[p.Name] = workload.Typed(p.Default); p.Required {
			given[p.Name] = []string{"x"}
		}
		seen[p.Name] = true
	}
	got, err := workload.Check(d, given)
	if err != nil {
		t.Fatalf("its own defaults do not pass: %v", err)
	}
	for _, p := range d.List() {
		if text := p.Text(got); text != p.Default && !p.Required {
			t.Errorf("%s is %q by default, and that is %q", p.Name, p.Default, text)
		}
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
