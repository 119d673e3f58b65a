// Package schemas compares docs/schema with the Go types. It stands beside testkit since what it imports keeps the linker
// from leaving out methods: of every test binary that is a third of the time.
package schemas

import (
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"hostlab/internal/testkit"
)

// Schema describes JSON documents by the Go types that are written, and the comments beside their fields.
type Schema struct {
	Title, Description string
	// Forms are the documents, with the kind and the version that each has.
	Forms []any
	// Words are the values that a type of texts may have.
	Words map[reflect.Type][]any
	// Shapes are types that write themselves, each with a value of the type that JSON shows of it.
	Shapes map[reflect.Type]any
	// Any are what a field of type any may hold, beside null.
	Any []any
	// Unknown lets any number be null, as result.JSON writes those that are not known.
	Unknown bool
}

// shape is the schema of a type that is not described by its fields, and what it refers to in defs; nil: it is.
func (s Schema) shape(r *jsonschema.Reflector, of reflect.Type, defs jsonschema.Definitions) *jsonschema.Schema {
	if words := s.Words[of]; words != nil {
		return &jsonschema.Schema{Type: "string", Enum: words}
	}
	one := []*jsonschema.Schema{{Type: "null"}}
	as, shaped := s.Shapes[of]
	switch {
	case shaped:
		name := unnamed.ReplaceAllString(strings.ReplaceAll(of.Name(), "[]", "List_"), "_")
		if defs[name] == nil {
			shape := r.Reflect(as)
			maps.Copy(defs, shape.Definitions)
			shape.Definitions, shape.Version = nil, ""
			nullable(reflect.TypeOf(as), shape)
			defs[name] = shape
		}
		one = append(one, &jsonschema.Schema{Ref: "#/$defs/" + name})
	case s.Any != nil && of.Kind() == reflect.Interface:
		for _, v := range s.Any {
			one = append(one, &jsonschema.Schema{Ref: "#/$defs/" + reflect.TypeOf(v).Name()})
		}
	case s.Unknown && of.Kind() == reflect.Float64:
		one = append(one, &jsonschema.Schema{Type: "number"})
	default:
		return nil
	}
	return &jsonschema.Schema{OneOf: one}
}

// unnamed is what the name of a definition cannot hold.
var unnamed = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// Equal requires that the file, which lies in docs/schema, describes the types, or writes it with -update.
func (s Schema) Equal(t testing.TB, file string) {
	t.Helper()
	root := testkit.Module()
	types, named, defs := map[reflect.Type]bool{}, map[string]int{}, jsonschema.Definitions{}
	for _, v := range slices.Concat(s.Forms, s.Any, slices.Collect(maps.Values(s.Shapes))) {
		collect(reflect.TypeOf(v), types)
	}
	for of := range types {
		named[of.Name()]++
	}
	name := func(of reflect.Type) string { // two packages may have a type of a name
		if named[of.Name()] > 1 || of.PkgPath() != "" && !strings.HasPrefix(of.PkgPath(), "hostlab/") {
			return path.Base(of.PkgPath()) + of.Name()
		}
		return of.Name()
	}
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, Namer: name}
	r.Mapper = func(of reflect.Type) *jsonschema.Schema { return s.shape(r, of, defs) }
	comments(t, r, root, types)
	out := &jsonschema.Schema{Version: jsonschema.Version, ID: jsonschema.ID("https://hostlab.invalid/schema/" + file),
		Title:       s.Title,
		Description: s.Description, Definitions: jsonschema.Definitions{}}
	for _, form := range s.Forms {
		v, own := reflect.ValueOf(form), reflect.TypeOf(form).Name()
		one := out.Definitions[own]
		if one == nil {
			one = r.Reflect(form)
			maps.Copy(out.Definitions, one.Definitions)
			one.Definitions, one.Version = nil, ""
			schema, _ := one.Properties.Get("schema")
			*schema = jsonschema.Schema{Const: v.FieldByName("Schema").Interface()}
			out.Definitions[own] = one
			out.OneOf = append(out.OneOf, &jsonschema.Schema{Ref: "#/$defs/" + own})
		}
		kind, _ := one.Properties.Get("kind") // two kinds may have one form
		*kind = jsonschema.Schema{Enum: append(kind.Enum, v.FieldByName("Kind").Interface())}
	}
	for _, v := range s.Any {
		one := r.Reflect(v)
		maps.Copy(out.Definitions, one.Definitions)
		one.Definitions, one.Version = nil, ""
		out.Definitions[reflect.TypeOf(v).Name()] = one
	}
	maps.Copy(out.Definitions, defs)
	for of := range types {
		if d := out.Definitions[name(of)]; d != nil {
			nullable(of, d)
		}
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, filepath.Join(root, "docs", "schema", file), string(text)+"\n")
}

// collect finds the structs of the module that a type holds.
func collect(of reflect.Type, into map[reflect.Type]bool) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		collect(of.Elem(), into)
	case reflect.Struct:
		if into[of] || !strings.HasPrefix(of.PkgPath(), "hostlab/") {
			return
		}
		into[of] = true
		for f := range of.Fields() {
			collect(f.Type, into)
		}
	}
}

// comments reads those of the packages of types.
func comments(t testing.TB, r *jsonschema.Reflector, root string, types map[reflect.Type]bool) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir(root); err != nil { // the paths are parts of the packages' names
		t.Fatal(err)
	}
	defer os.Chdir(here) //nolint:errcheck // it was there
	read := map[string]bool{}
	for of := range types {
		dir := strings.TrimSuffix(strings.TrimPrefix(of.PkgPath(), "hostlab/"), "_test")
		if read[dir] {
			continue
		}
		read[dir] = true
		if err := r.AddGoComments("hostlab", dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(text), " ")
	}
}

// nullable lets pointers be null that are written where they are nil.
func nullable(of reflect.Type, s *jsonschema.Schema) {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if s.Properties == nil { // a table
		return
	}
	for f := range of.Fields() {
		if f.Anonymous {
			nullable(f.Type, s)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p, ok := s.Properties.Get(name)
		if !ok || f.Type.Kind() != reflect.Pointer || strings.HasPrefix(options, "omit") || slices.ContainsFunc(p.OneOf,
			func(o *jsonschema.Schema) bool { return o.Type == "null" }) {
			continue
		}
		whole := *p
		whole.Description = ""
		*p = jsonschema.Schema{OneOf: []*jsonschema.Schema{&whole, {Type: "null"}}, Description: p.Description}
	}
}
