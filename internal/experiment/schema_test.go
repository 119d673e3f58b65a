package experiment

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"hostlab/internal/golden"
	"hostlab/internal/workload/all"

	"github.com/pelletier/go-toml/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schemaFile = "../../docs/schema/study.schema.json"

// TestSchemaFile holds the copy for people equal to what the binary prints.
func TestSchemaFile(t *testing.T) {
	golden.Equal(t, schemaFile, string(Schema(all.Workloads())))
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema(all.Workloads())))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020) // it checks the schema against its own
	if err := c.AddResource("study.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("study.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is a TOML file as schemas see it.
func asJSON(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := toml.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestSchemaAcceptsStudies(t *testing.T) {
	s := compiled(t)
	texts := map[string][]byte{"smallest": []byte(smallest), "full": []byte(full)}
	if len(Embedded(everything())) != len(Names()) {
		t.Errorf("%d of %d built-in studies can be read", len(Embedded(everything())), len(Names()))
	}
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
		{"schema = 1", "schema = 2"}, {"[guard]", "[gard]"}, {"seed = 7", "sed = 7"}, {"alpha = 0.1", "alpha = 0.7"}, {`budget = "6h"`, "budget = 6"},
		{`settle = "20s"`, `settle = "20"`}, {`name = "log"`, `name = "l g"`}, {`unit = "s"`, `unit = "ms"`}, {`manual = "Set power to {level}"`, ""},
		{`order = "random"`, `order = "fixed"`}, {`name = "command"`, `name = "comand"`}, {"retries = 2", "retrys = 2"}, {"looks = [3, 0x6]", "looks = []"},
		{`fingerprint = ["kernel", "smt"]`, `fingerprint = ["kernel", "smp"]`}, {`max_foreign_cpu = "3%"`, "max_foreign_cpu = 3"}, {`change = "reboot"`, `change = "boot"`},
		{`interaction = ["bios", "n"]`, "interaction = [\"bios\", \"n\"]\nfactor = \"n\""}, {`run = ["./bench"`, `runs = ["./bench"`},
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
		if s.Name+".toml" != s.File {
			t.Errorf("%s is named %s", s.File, s.Name)
		}
	}
}
