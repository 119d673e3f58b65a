package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hostlab/internal/testkit"
	"hostlab/internal/workload"
	"hostlab/internal/workload/all"
	"hostlab/studies"

	reflected "github.com/invopop/jsonschema"
	"github.com/pelletier/go-toml/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// object is a JSON object, whose keys encoding/json sorts.
type object = map[string]any

var scalars = []string{"string", "number", "boolean"}

// shapes are what types of texts look like to editors.
var shapes = map[reflect.Type]object{
	reflect.TypeFor[name]():           {"type": "string", "pattern": nameForm.String()},
	reflect.TypeFor[level]():          {"type": scalars},
	reflect.TypeFor[argument]():       {"type": scalars},
	reflect.TypeFor[unit]():           {"type": "string", "enum": Units},
	reflect.TypeFor[fact]():           {"type": "string", "enum": Fingerprints},
	reflect.TypeFor[workload.Word]():  {"type": scalars},
	reflect.TypeFor[workload.Bytes](): {"type": []string{"string", "integer"}},
	reflect.TypeFor[workload.Span]():  {"type": "string", "pattern": durationPattern},
	reflect.TypeFor[workload.Share](): {"anyOf": []object{{"type": "string", "pattern": sharePattern},
		{"type": "number", "minimum": 0, "maximum": 1}}},
}

const (
	number0         = `([0-9]+(\.[0-9]*)?|\.[0-9]+)`
	durationPattern = `^\s*(0|(` + number0 + `(ns|us|µs|ms|s|m|h))+)\s*$`
	sharePattern    = `^\s*` + number0 + `\s*%?\s*$`
)

// described is a type as a JSON object, by its fields' types, tags and comments.
func described(t *testing.T, of any) object {
	t.Helper()
	r := &reflected.Reflector{FieldNameTag: "toml", DoNotReference: true, Anonymous: true, ExpandedStruct: true,
		RequiredFromJSONSchemaTags: true, Mapper: func(of reflect.Type) *reflected.Schema {
			if shape := shapes[of]; shape != nil {
				return &reflected.Schema{Extras: shape}
			}
			return nil
		}}
	dir := strings.TrimPrefix(reflect.TypeOf(of).Elem().PkgPath(), "hostlab/internal/")
	t.Chdir("..") // comments are read of packages by their folders
	testkit.OK(t, r.AddGoComments("hostlab/internal", "./"+dir))
	t.Chdir("experiment")
	b := testkit.Must(json.Marshal(r.Reflect(of)))(t)
	var out object
	testkit.OK(t, json.Unmarshal(b, &out))
	unwrapped(out)
	return out
}

// unwrapped joins the lines of comments.
func unwrapped(v any) {
	switch v := v.(type) {
	case object:
		if text, ok := v["description"].(string); ok {
			v["description"] = strings.Join(strings.Fields(text), " ")
		}
		for _, x := range v {
			unwrapped(x)
		}
	case []any:
		for _, x := range v {
			unwrapped(x)
		}
	}
}

// schema is the JSON Schema (2020-12) of study files, with the parameters of each workload. It keeps to
// keywords that draft 7 has too, which is what editors' TOML plugins know.
func schema(t *testing.T) []byte {
	t.Helper()
	doc := described(t, &File{})
	doc["$id"], doc["title"] = "https://hostlab.invalid/schema/study.schema.json", "A hostlab study"
	doc["description"] = "A hostlab study: what is varied, which workload runs, which responses decide."
	properties := doc["properties"].(object)
	one := func(table string, keys ...string) {
		var need []object
		for _, k := range keys {
			need = append(need, object{"required": []string{k}})
		}
		properties[table].(object)["items"].(object)["oneOf"] = need
	}
	var by []string
	for _, w := range ways {
		by = append(by, w.key)
	}
	one("factor", by...)
	one("contrast", "factor", "interaction")
	work := described(t, &WorkloadTable{})
	delete(work, "$schema")
	delete(work, "additionalProperties")
	work["description"], work["required"] = properties["workload"].(object)["description"], []string{"name"}
	var names []string
	var each []object
	for _, w := range all.Workloads() {
		d := w.Describe()
		names = append(names, d.Name)
		params := object{}
		for key := range work["properties"].(object) {
			params[key] = true // described above
		}
		own := described(t, d.Params)["properties"].(object)
		for _, p := range d.List() {
			param := own[p.Name].(object)
			if p.Default != "" {
				param["default"] = plainDefault(p, workload.Value(d.Params, p.Name))
			}
			params[p.Name] = param
		}
		each = append(each, object{
			"if":   object{"properties": object{"name": object{"const": d.Name}}},
			"then": object{"properties": params, "additionalProperties": false, "description": d.About},
		})
	}
	work["properties"].(object)["name"].(object)["enum"], work["allOf"] = names, each
	properties["workload"] = work
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	testkit.OK(t, e.Encode(doc))
	return b.Bytes()
}

// plainDefault is a default as a file has it.
func plainDefault(p workload.Param, v any) any {
	if _, unit := v.(fmt.Stringer); unit {
		return p.Default
	}
	return v
}

// TestSchemaFile holds what the binary prints to the types that it reads by.
func TestSchemaFile(t *testing.T) {
	testkit.Equal(t, "../../studies/study.schema.json", string(schema(t)))
}

// Every key has its description.
func TestKeysAreDescribed(t *testing.T) {
	for table, of := range tables {
		keys := described(t, reflect.New(of).Interface())["properties"].(object)
		for key, o := range keys {
			if text, _ := o.(object)["description"].(string); text == "" {
				t.Errorf("%s: %s is not described", table, key)
			}
		}
		testkit.Is(t, len(keysOf(table)), len(keys), table, "keys of")
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc := testkit.Must(jsonschema.UnmarshalJSON(bytes.NewReader(studies.Schema)))(t)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020) // it checks the schema against its own
	testkit.OK(t, c.AddResource("study.schema.json", doc))
	return testkit.Must(c.Compile("study.schema.json"))(t)
}

// asJSON is a TOML file as schemas see it.
func asJSON(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	testkit.OK(t, toml.Unmarshal(data, &v))
	b := testkit.Must(json.Marshal(v))(t)
	return testkit.Must(jsonschema.UnmarshalJSON(bytes.NewReader(b)))(t)
}

func TestSchemaAcceptsStudies(t *testing.T) {
	s := compiled(t)
	texts := map[string][]byte{"smallest": []byte(smallest), "full": []byte(full)}
	testkit.Is(t, len(files()), len(Embedded(everything())), "built-in studies can be read")
	for _, e := range Embedded(everything()) {
		texts[e.File] = e.Source
	}
	for name, text := range texts {
		if err := s.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefusesMistakes(t *testing.T) {
	s := compiled(t)
	for _, c := range []struct{ old, new string }{
		{"schema = 1", "schema = 2"}, {"[guard]", "[gard]"}, {"seed = 7", "sed = 7"}, {"alpha = 0.1", "alpha = 0.7"},
		{`budget = "6h"`, "budget = 6"},
		{`settle = "20s"`, `settle = "20"`}, {`name = "log"`, `name = "l g"`}, {`unit = "s"`, `unit = "ms"`},
		{`manual = "Set power to {level}"`, ""},
		{`order = "random"`, `order = "fixed"`}, {`name = "command"`, `name = "comand"`}, {"retries = 2", "retrys = 2"},
		{"looks = [3, 0x6]", "looks = [0]"},
		{`fingerprint = ["kernel", "smt"]`, `fingerprint = ["kernel", "smp"]`},
		{`max_foreign_cpu = "3%"`, "max_foreign_cpu = 3"}, {`change = "reboot"`, `change = "boot"`},
		{`interaction = ["bios", "n"]`, "interaction = [\"bios\", \"n\"]\nfactor = \"n\""},
		{`run = ["./bench"`, `runs = ["./bench"`},
	} {
		text := strings.Replace(full, c.old, c.new, 1)
		if text == full {
			t.Fatalf("%s is not in the text", c.old)
		}
		if s.Validate(asJSON(t, []byte(text))) == nil {
			t.Errorf("the schema accepts %s", c.new)
		}
		if _, err := Parse("x.toml", "/", []byte(text), Overrides{}, everything()); err == nil {
			t.Errorf("the parser accepts %s", c.new)
		}
	}
}

// TestStudiesTellEditors: editors find the schema by the first line.
func TestStudiesTellEditors(t *testing.T) {
	for _, s := range Embedded(everything()) {
		if !strings.HasPrefix(string(s.Source), "#:schema ./study.schema.json\n# ") {
			t.Errorf("%s does not begin with its schema and a comment", s.File)
		}
		testkit.Is(t, s.File, s.Name+".toml", "is named", s.Name)
	}
}
