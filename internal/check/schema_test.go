package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/host"
)

// conforms checks a value against the part of JSON Schema 2020-12 that our
// schema uses. A keyword that it does not know is an error, so that the schema
// cannot promise what no test holds.
func conforms(root, schema map[string]any, v any, at string) error {
	for key, arg := range schema {
		var err error
		switch key {
		case "$schema", "$id", "$defs", "title", "description":
		case "$ref":
			name := strings.TrimPrefix(arg.(string), "#/$defs/")
			def, ok := root["$defs"].(map[string]any)[name].(map[string]any)
			if !ok {
				return fmt.Errorf("%s: no definition %s", at, name)
			}
			err = conforms(root, def, v, at)
		case "type":
			err = ofType(arg.(string), v)
		case "const":
			if v != arg {
				err = fmt.Errorf("%v, want %v", v, arg)
			}
		case "enum":
			if !slices.Contains(arg.([]any), v) {
				err = fmt.Errorf("%v is none of %v", v, arg)
			}
		case "pattern":
			if s, _ := v.(string); !regexp.MustCompile(arg.(string)).MatchString(s) {
				err = fmt.Errorf("%q does not match %s", s, arg)
			}
		case "minLength":
			if s, _ := v.(string); float64(len([]rune(s))) < arg.(float64) {
				err = fmt.Errorf("%q is too short", s)
			}
		case "required":
			for _, name := range arg.([]any) {
				if o, _ := v.(map[string]any); !has(o, name.(string)) {
					err = fmt.Errorf("%s is missing", name)
				}
			}
		case "additionalProperties":
			props := schema["properties"].(map[string]any)
			o, _ := v.(map[string]any)
			for name := range o {
				if arg == false && !has(props, name) {
					err = fmt.Errorf("%s is not allowed", name)
				}
			}
		case "properties":
			o, _ := v.(map[string]any)
			for name, sub := range arg.(map[string]any) {
				if x, ok := o[name]; ok && err == nil {
					err = conforms(root, sub.(map[string]any), x, at+"/"+name)
				}
			}
		case "items":
			list, _ := v.([]any)
			for i, x := range list {
				if err == nil {
					err = conforms(root, arg.(map[string]any), x, fmt.Sprintf("%s/%d", at, i))
				}
			}
		default:
			return fmt.Errorf("%s: the test does not know the keyword %s", at, key)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	return nil
}

func has(o map[string]any, name string) bool { _, ok := o[name]; return ok }

func ofType(want string, v any) error {
	got := "null"
	switch v.(type) {
	case map[string]any:
		got = "object"
	case []any:
		got = "array"
	case string:
		got = "string"
	}
	if got != want {
		return fmt.Errorf("is a %s, want a %s", got, want)
	}
	return nil
}

func loadSchema(t *testing.T) map[string]any {
	t.Helper()
	b, err := os.ReadFile("../../docs/schema/check.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(b, &schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

func output(t *testing.T, role Role, results []Result) any {
	t.Helper()
	var b bytes.Buffer
	if err := document.WriteJSON(&b, Document(named("db1"), role, results, false, time.Time{}).Data); err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(b.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestJSONConformsToSchema(t *testing.T) {
	schema := loadSchema(t)
	for _, role := range Roles {
		for _, c := range allCases() {
			v := output(t, role, own(c.facts0(), role))
			if err := conforms(schema, schema, v, ""); err != nil {
				t.Fatalf("%s/%s as %s: %v", c.id, c.name, role, err)
			}
		}
		for what, results := range map[string][]Result{"no results": nil, "no facts": Run(nil, role, All())} {
			if err := conforms(schema, schema, output(t, role, results), ""); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	// A result made by hand: its evidence is [] nevertheless.
	bare := []Result{{ID: "PWR-001", Title: "t", Severity: Info, Status: OK, Detail: "d", Why: "w", Source: "s"}}
	if err := conforms(schema, schema, output(t, Development, bare), ""); err != nil {
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
		if conforms(schema, schema, v, "") == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestJSONKeepsCommandsReadable(t *testing.T) {
	var b bytes.Buffer
	r := []Result{{ID: "PWR-001", Remedy: "a > b && c"}}
	if err := document.WriteJSON(&b, Document(named("h"), ProductionDB, r, false, time.Time{}).Data); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "a > b && c") {
		t.Errorf("escaped: %s", b.String())
	}
}
