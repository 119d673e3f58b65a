package experiment

import (
	"bytes"
	"encoding/json"

	"hostlab/internal/workload"
	"hostlab/internal/workload/all"
)

// object is a JSON object, whose keys encoding/json sorts.
type object = map[string]any

// Schema returns the JSON Schema (2020-12) of study files, made from the tables
// that the parser reads by. It keeps to keywords that draft 7 has too, which is
// what editors' TOML plugins know. docs/schema holds a copy.
func Schema() []byte {
	properties := object{}
	for _, k := range root.keys {
		properties[k.name] = k.schema()
	}
	for _, s := range sections {
		t := s.schema()
		if s.many {
			t = object{"type": "array", "items": t, "description": s.help}
		}
		properties[s.name] = t
	}
	doc := object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://hostlab.invalid/schema/study.schema.json",
		"title": "A hostlab study", "description": root.help, "type": "object", "properties": properties,
		"required": []string{"factor", "workload"}, "additionalProperties": false,
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		panic(err) // maps of strings, numbers and booleans always encode
	}
	return b.Bytes()
}

func (s section) schema() object {
	properties, required := object{}, []string{}
	for _, k := range s.keys {
		properties[k.name] = k.schema()
		if k.required {
			required = append(required, k.name)
		}
	}
	t := object{"type": "object", "description": s.help, "properties": properties}
	if len(required) > 0 {
		t["required"] = required
	}
	if !s.open {
		t["additionalProperties"] = false
	}
	need := func(keys ...string) (list []object) {
		for _, k := range keys {
			list = append(list, object{"required": []string{k}})
		}
		return list
	}
	switch s.name {
	case "factor":
		t["oneOf"] = need("setting", "parameter", "emulate", "apply", "manual")
	case "contrast":
		t["oneOf"] = need("factor", "interaction")
	case "workload":
		workloads(s, t)
	}
	return t
}

// workloads adds the parameters of each workload, by its name.
func workloads(s section, t object) {
	var names []string
	var each []object
	for _, w := range all.Workloads() {
		d := w.Describe()
		names = append(names, d.Name)
		properties := object{}
		for _, k := range s.keys {
			properties[k.name] = true // described above
		}
		for _, p := range d.Params {
			properties[p.Name] = paramSchema(p)
		}
		each = append(each, object{
			"if":   object{"properties": object{"name": object{"const": d.Name}}},
			"then": object{"properties": properties, "additionalProperties": false, "description": d.About},
		})
	}
	t["properties"].(object)["name"].(object)["enum"] = names
	t["allOf"] = each
}

const (
	number0         = `([0-9]+(\.[0-9]*)?|\.[0-9]+)`
	durationPattern = `^\s*(0|(` + number0 + `(ns|us|µs|ms|s|m|h))+)\s*$`
	sharePattern    = `^\s*` + number0 + `\s*%?\s*$`
	scalarTypes     = "a text, a number, true or false"
)

func (k key) schema() object {
	o := object{"description": k.help}
	if k.standard != nil {
		o["default"] = k.standard
	}
	scalars := []string{"string", "number", "boolean"}
	limits := func(to object) object {
		if k.min != 0 || k.max != 0 {
			to["minimum"], to["maximum"] = k.min, k.max
		}
		return to
	}
	list := func(items object) {
		o["type"], o["items"], o["minItems"] = "array", items, 1
	}
	textItem := object{"type": "string", "minLength": 1}
	if k.choices != nil {
		textItem = object{"enum": k.choices}
	}
	switch k.kind {
	case text:
		o["type"] = "string"
		if k.choices != nil {
			o["enum"] = k.choices
		} else {
			o["minLength"] = 1
		}
	case name:
		o["type"], o["pattern"] = "string", nameForm.String()
	case integer:
		o["type"] = "integer"
		limits(o)
	case number:
		o["type"] = "number"
		limits(o)
	case boolean:
		o["type"] = "boolean"
	case duration:
		o["type"], o["pattern"] = "string", durationPattern
	case share:
		o["anyOf"] = []object{{"type": "string", "pattern": sharePattern}, {"type": "number", "minimum": 0, "maximum": 1}}
	case integers:
		list(limits(object{"type": "integer"}))
	case words:
		list(textItem)
	case levels:
		list(object{"type": scalars, "description": scalarTypes})
	case level:
		o["type"] = scalars
	case margin:
		o["type"] = []string{"string", "number"}
	case pairs:
		o["type"], o["additionalProperties"] = "object", object{"type": scalars}
	case command:
		list(object{"type": scalars})
	}
	return o
}

// paramSchema is the form of a workload's parameter.
func paramSchema(p workload.Param) object {
	o := object{"description": p.Help}
	if p.Default != nil {
		o["default"] = p.Default
		if p.Kind == workload.Duration || p.Kind == workload.Bytes {
			o["default"] = workload.Text(p, p.Default)
		}
	}
	ranged := p.Min != 0 || p.Max != 0
	switch p.Kind {
	case workload.String:
		o["type"] = "string"
		if p.Numbers {
			o["type"] = []string{"string", "integer"}
		}
		if len(p.Choices) > 0 {
			o["enum"] = p.Choices
		}
	case workload.Int, workload.Float:
		o["type"] = map[workload.Kind]string{workload.Int: "integer", workload.Float: "number"}[p.Kind]
		if ranged {
			o["minimum"], o["maximum"] = p.Min, p.Max
		}
	case workload.Bool:
		o["type"] = "boolean"
	case workload.Duration:
		o["type"], o["pattern"] = "string", durationPattern
	case workload.Bytes:
		o["type"] = []string{"string", "integer"}
	case workload.List:
		o["type"], o["items"] = "array", object{"type": []string{"string", "number", "boolean"}}
	case workload.Table:
		o["type"], o["additionalProperties"] = "object", object{"type": []string{"string", "number", "boolean"}}
	}
	return o
}
