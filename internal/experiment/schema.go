package experiment

import (
	"bytes"
	"encoding/json"

	"hostlab/internal/workload"
)

// object is a JSON object, whose keys encoding/json sorts.
type object = map[string]any

// Schema returns the JSON Schema (2020-12) of study files, made from the tables
// that the parser reads by. It keeps to keywords that draft 7 has too, which is
// what editors' TOML plugins know. docs/schema holds a copy.
func Schema(known []workload.Workload) []byte {
	properties := object{}
	for _, k := range root.keys {
		properties[k.Name] = schema(k, true)
	}
	for _, s := range sections {
		t := s.schema(known)
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

func (s section) schema(known []workload.Workload) object {
	properties, required := object{}, []string{}
	for _, k := range s.keys {
		properties[k.Name] = schema(k, true)
		if k.Required {
			required = append(required, k.Name)
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
		var keys []string
		for _, w := range ways {
			keys = append(keys, w.key)
		}
		t["oneOf"] = need(keys...)
	case "contrast":
		t["oneOf"] = need("factor", "interaction")
	case "workload":
		s.workloads(t, known)
	}
	return t
}

// workloads adds the parameters of each workload, by its name.
func (s section) workloads(t object, known []workload.Workload) {
	var names []string
	var each []object
	for _, w := range known {
		d := w.Describe()
		names = append(names, d.Name)
		properties := object{}
		for _, k := range s.keys {
			properties[k.Name] = true // described above
		}
		for _, p := range d.Params {
			properties[p.Name] = schema(p, false)
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
)

// schema is the form of a key, or of a workload's parameter, in a study file. own is set for
// a key of the file's own, whose texts and lists may not be empty.
func schema(p workload.Param, own bool) object {
	o := object{"description": p.Help}
	if p.Default != nil {
		o["default"] = p.Default
		if p.Kind == workload.Duration || p.Kind == workload.Bytes {
			o["default"] = workload.Text(p, p.Default)
		}
	}
	scalars := []string{"string", "number", "boolean"}
	limited := func(to object) object {
		if p.Min != 0 || p.Max != 0 {
			to["minimum"], to["maximum"] = p.Min, p.Max
		}
		return to
	}
	switch p.Kind {
	case workload.String:
		switch o["type"] = "string"; {
		case p.Numbers:
			o["type"] = scalars
		case p.Choices != nil:
			o["enum"] = p.Choices
		case p.Form != nil:
			o["pattern"] = p.Form.String()
		case own:
			o["minLength"] = 1
		}
	case workload.Int, workload.Float:
		o["type"] = map[workload.Kind]string{workload.Int: "integer", workload.Float: "number"}[p.Kind]
		limited(o)
	case workload.Share:
		o["anyOf"] = []object{{"type": "string", "pattern": sharePattern}, {"type": "number", "minimum": 0, "maximum": 1}}
	case workload.Bool:
		o["type"] = "boolean"
	case workload.Duration:
		o["type"], o["pattern"] = "string", durationPattern
	case workload.Bytes:
		o["type"] = []string{"string", "integer"}
	case workload.Ints:
		o["type"], o["items"] = "array", limited(object{"type": "integer"})
	case workload.List:
		o["type"], o["items"] = "array", object{"type": scalars}
		if p.Choices != nil {
			o["items"] = object{"enum": p.Choices}
		}
	case workload.Table:
		o["type"], o["additionalProperties"] = "object", object{"type": scalars}
	}
	if own && o["type"] == "array" {
		o["minItems"] = 1
	}
	return o
}
