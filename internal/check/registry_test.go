package check

import (
	"bytes"
	"fmt"
	keysof "maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/setting"
	"hostlab/internal/testkit"
	"hostlab/internal/testkit/schemas"
)

func TestRegistry(t *testing.T) {
	form := regexp.MustCompile(`^(PWR|IDL|SMT|MEM|KRN|NET|STO|VRT|SRV)-\d{3}$`)
	last := ""
	subjects := map[string]bool{}
	for _, c := range All() {
		subject, _, _ := strings.Cut(c.ID, "-")
		switch lastSubject, _, _ := strings.Cut(last, "-"); {
		case !form.MatchString(c.ID):
			t.Errorf("%s: not an ID", c.ID)
		case subject == lastSubject && c.ID <= last:
			t.Errorf("%s stands after %s", c.ID, last)
		case subject != lastSubject && subjects[subject]:
			t.Errorf("%s: its subject stands in two places", c.ID)
		}
		last, subjects[subject] = c.ID, true
		for name, s := range map[string]string{"Title": c.Title, "Why": c.Why, "Source": c.Source} {
			if strings.TrimSpace(s) == "" || strings.ContainsAny(s, "\n\t") || strings.Contains(s, "  ") {
				t.Errorf("%s: %s is empty or holds line breaks or double spaces: %q", c.ID, name, s)
			}
		}
		if len(c.Severity) == 0 || c.look == nil && c.goals == nil {
			t.Errorf("%s: no role or nothing to look with", c.ID)
		}
		if len(c.Title) > 51 {
			t.Errorf("%s: the title is %d characters long; 51 fit on a line of the list", c.ID, len(c.Title))
		}
		for r, s := range c.Severity {
			if !slices.Contains(Roles, r) || s < Info || s > High {
				t.Errorf("%s: severity %d for role %q", c.ID, s, r)
			}
		}
	}
}

// TestRolesAreCovered holds that each role has checks, and that what costs
// energy is not asked of development systems.
func TestRolesAreCovered(t *testing.T) {
	n := map[Role]int{}
	for _, c := range All() {
		for r := range c.Severity {
			n[r]++
		}
		if _, dev := c.Severity[Development]; dev && (c.Subject == Frequency || c.Subject == Idle) {
			t.Errorf("%s asks a development system to spend energy", c.ID)
		}
	}
	for _, r := range Roles {
		if n[r] == 0 {
			t.Errorf("no check for %s", r)
		}
	}
}

func TestAllIsACopy(t *testing.T) {
	a := All()
	a[0].ID = "spoilt"
	if All()[0].ID == "spoilt" {
		t.Error("callers can change the registry")
	}
}

// TestDocs holds docs/checks.md to what the program does.
func TestDocs(t *testing.T) { testkit.Page(t, "../../docs/checks.md", docs()+coverage(sources(t))) }

func docs() string {
	var b strings.Builder
	b.WriteString("# Checks\n\nWhat `hostlab check` looks at, how much a finding weighs in each role, and its sources. " +
		"A role that is not named is not judged.\n`hostlab check --explain ID` prints one of them with its reasons.\n\n")
	for _, c := range All() {
		var weights []string
		for _, r := range Roles {
			if s, ok := c.Severity[r]; ok {
				weights = append(weights, s.String()+" for "+string(r))
			}
		}
		fmt.Fprintf(&b, "- **%s** %s: %s. Sources: %s.", c.ID, c.Title, strings.Join(weights, ", "), c.Source)
		if c.Disagree != "" {
			fmt.Fprintf(&b, " %s", strings.TrimRight(c.Disagree, ".")+".")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// source is a tool, or a profile of one, with what it judges or sets.
type source struct {
	Name, File, Version string
	Least               float64           // the share of what counts that must be judged
	Parameters          map[string]string // by name, with the value that it advises
	Left                map[string]string // why a parameter does not count
	Missing             map[string]string // why one that counts is not judged
}

func sources(t *testing.T) []source {
	t.Helper()
	b := testkit.Must(os.ReadFile("testdata/sources.toml"))(t)
	var file struct{ Source []source }
	testkit.OK(t, toml.NewDecoder(strings.NewReader(string(b))).DisallowUnknownFields().Decode(&file))
	return file.Source
}

// judges are the checks that take a parameter in.
func judges(parameter string) (ids []string) {
	for _, c := range All() {
		if slices.Contains(c.Covers, parameter) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// setsOf are the settings of a parameter: by its sysctl, or what a tool calls it.
func setsOf(parameter string) (names []string) {
	for _, s := range setting.All() {
		called := slices.ContainsFunc(s.Words, func(w setting.Word) bool { return w.Option == parameter })
		if called || s.Sysctl == parameter {
			names = append(names, s.Name)
		}
	}
	return names
}

// count is how many parameters of a source count, and how many of those are judged.
func (s source) count() (judged, counted int) {
	for name := range s.Parameters {
		if s.Left[name] != "" {
			continue
		}
		if counted++; judges(name) != nil {
			judged++
		}
	}
	return judged, counted
}

// TestCoverage holds how much of each source is judged, and that nothing is left out in silence.
func TestCoverage(t *testing.T) {
	named := map[string]bool{}
	for _, s := range sources(t) {
		if s.Name == "" || s.File == "" || s.Version == "" || len(s.Parameters) == 0 {
			t.Errorf("%q lacks a file, a version or parameters", s.Name)
		}
		judged, counted := s.count()
		if float64(judged) < s.Least*float64(counted) {
			t.Errorf("%s: %d of %d parameters are judged, expected a share of %g", s.Name, judged, counted, s.Least)
		}
		for name := range s.Parameters {
			named[name] = true
			switch left, missing, known := s.Left[name] != "", s.Missing[name] != "", judges(name) != nil; {
			case left && missing:
				t.Errorf("%s: %s is both left and missing", s.Name, name)
			case known && missing:
				t.Errorf("%s: %s is judged, and yet missing", s.Name, name)
			case !known && !left && !missing:
				t.Errorf("%s: no check covers %s; add it to a check's Covers, or say in missing why not", s.Name, name)
			}
		}
		for _, name := range slices.Concat(slices.Collect(keysof.Keys(s.Left)), slices.Collect(keysof.Keys(s.Missing))) {
			if s.Parameters[name] == "" {
				t.Errorf("%s: %s is no parameter of it", s.Name, name)
			}
		}
	}
	for _, c := range All() {
		for _, name := range c.Covers {
			if !named[name] {
				t.Errorf("%s covers %s, which no source has", c.ID, name)
			}
		}
	}
}

// coverage is the part of docs/checks.md on other tools.
func coverage(all []source) string {
	var b strings.Builder
	b.WriteString("\n## What other tools judge or set\n\nCounted from " +
		"[sources.toml](../internal/check/testdata/sources.toml), which holds the tools' parameters, and from what each " +
		"check declares\nto cover. A parameter counts if kernels from 6.1 on have it and the tool still advises it. Each " +
		"is judged where its check applies: for\nthe servers that it speaks for.\n\n")
	values, order := map[string][]string{}, []string{}
	for _, s := range all {
		judged, counted := s.count()
		fmt.Fprintf(&b, "- **%s**: %d of %d judged; %s, %s\n", s.Name, judged, counted, s.Version, s.File)
		for _, name := range slices.Sorted(keysof.Keys(s.Parameters)) {
			if values[name] == nil {
				order = append(order, name)
			}
			values[name] = append(values[name], s.Name+" ("+s.Parameters[name]+")")
		}
	}
	b.WriteString("\nThe parameters that are judged, who has them and with which value:\n\n")
	for _, name := range order {
		if ids := judges(name); ids != nil {
			fmt.Fprintf(&b, "- %s: %s. Judged by %s", strings.TrimPrefix(name, "perfspect/"), strings.Join(values[name], "; "),
				strings.Join(ids, ", "))
			if sets := setsOf(name); len(sets) > 0 {
				b.WriteString("; set by " + strings.Join(sets, ", "))
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n### Left out\n\n")
	for _, s := range all {
		for _, name := range slices.Sorted(keysof.Keys(s.Parameters)) {
			if why := s.Left[name]; why != "" {
				fmt.Fprintf(&b, "- %s (%s), not counted: %s\n", strings.TrimPrefix(name, "perfspect/"), s.Name, why)
			} else if why := s.Missing[name]; why != "" {
				fmt.Fprintf(&b, "- %s (%s), counted: %s\n", strings.TrimPrefix(name, "perfspect/"), s.Name, why)
			}
		}
	}
	return b.String()
}

func loadSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	return testkit.Must(jsonschema.NewCompiler().Compile("../../docs/schema/check.schema.json"))(t)
}

// docs/schema/check.schema.json describes the output.
func TestSchema(t *testing.T) {
	schemas.Schema{Title: "Output of hostlab check --format json",
		Forms: []any{Report{Head: document.Head{Kind: Kind, Schema: Schema}}},
		Words: map[reflect.Type][]any{reflect.TypeFor[Role](): {ProductionDB, ProductionApp, Development},
			reflect.TypeFor[Severity](): {Info, Low, Medium, High},
			reflect.TypeFor[Status]():   {OK, Finding, Accepted, NotApplicable, Unknown}},
	}.Equal(t, "check.schema.json")
}

func output(t *testing.T, role Role, results []Result) any {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, document.WriteJSON(&b, Document(named("db1"), role, results, false, time.Time{}).Data))
	return testkit.Must(jsonschema.UnmarshalJSON(&b))(t)
}

func TestJSONConformsToSchema(t *testing.T) {
	schema := loadSchema(t)
	eachCase(func(c lookCase, role Role) {
		if err := schema.Validate(output(t, role, own(c.facts0(), role))); err != nil {
			t.Fatalf("%s/%s as %s: %v", c.id, c.name, role, err)
		}
	})
	for _, role := range Roles {
		for what, results := range map[string][]Result{"no results": nil, "no facts": Run(nil, role, All())} {
			if err := schema.Validate(output(t, role, results)); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	// A result made by hand: its evidence is [] nevertheless.
	bare := []Result{{ID: "PWR-001", Title: "t", Severity: Info, Status: OK, Detail: "d", Why: "w", Source: "s"}}
	if err := schema.Validate(output(t, Development, bare)); err != nil {
		t.Errorf("no evidence: %v", err)
	}
}

// TestSchemaRefuses holds that the schema and its reader are not lenient.
func TestSchemaRefuses(t *testing.T) {
	schema := loadSchema(t)
	for name, spoil := range map[string]func(top, result map[string]any){
		"other version":    func(top, _ map[string]any) { top["schema"] = 2.0 },
		"unknown role":     func(top, _ map[string]any) { top["role"] = "prod" },
		"no host":          func(top, _ map[string]any) { delete(top, "host") },
		"null results":     func(top, _ map[string]any) { top["results"] = nil },
		"null evidence":    func(_, r map[string]any) { r["evidence"] = nil },
		"text as evidence": func(_, r map[string]any) { r["evidence"] = []any{"x"} },
		"no value":         func(_, r map[string]any) { r["evidence"] = []any{map[string]any{"path": "/x"}} },
		"unknown status":   func(_, r map[string]any) { r["status"] = "fail" },
		"bad ID":           func(_, r map[string]any) { r["id"] = "PWR-1" },
		"empty why":        func(_, r map[string]any) { r["why"] = "" },
		"another field":    func(_, r map[string]any) { r["note"] = "x" },
	} {
		v := output(t, ProductionDB, Run(&host.Facts{}, ProductionDB, All())).(map[string]any)
		spoil(v, v["results"].([]any)[0].(map[string]any))
		if schema.Validate(v) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestJSONKeepsCommandsReadable(t *testing.T) {
	var b bytes.Buffer
	r := []Result{{ID: "PWR-001", Remedy: "a > b && c"}}
	testkit.OK(t, document.WriteJSON(&b, Document(named("h"), ProductionDB, r, false, time.Time{}).Data))
	testkit.Has(t, b.String(), "a > b && c")
}
