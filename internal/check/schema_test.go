package check

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

func loadSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	return testkit.Must(jsonschema.NewCompiler().Compile("../../docs/schema/check.schema.json"))(t)
}

// docs/schema/check.schema.json describes the output.
func TestSchema(t *testing.T) {
	testkit.Schema{Title: "Output of hostlab check --format json",
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
