package testkit

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
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

// shape is the schema of a type that is not described by its fields; nil: it is.
func (s Schema) shape(r *jsonschema.Reflector, of reflect.Type) *jsonschema.Schema {
	if words := s.Words[of]; words != nil {
		return &jsonschema.Schema{Type: "string", Enum: words}
	}
	null := &jsonschema.Schema{Type: "null"}
	if as, ok := s.Shapes[of]; ok {
		inner := &jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true, Mapper: r.Mapper,
			CommentMap: r.CommentMap}
		shape := inner.Reflect(as)
		shape.Version = ""
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{shape, null}}
	}
	if s.Any != nil && of.Kind() == reflect.Interface {
		one := []*jsonschema.Schema{null}
		for _, v := range s.Any {
			one = append(one, &jsonschema.Schema{Ref: "#/$defs/" + reflect.TypeOf(v).Name()})
		}
		return &jsonschema.Schema{OneOf: one}
	}
	if s.Unknown && of.Kind() == reflect.Float64 {
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "number"}, null}}
	}
	return nil
}

// Equal requires that the file, which lies in docs/schema, describes the types, or writes it with -update.
func (s Schema) Equal(t testing.TB, name string) {
	t.Helper()
	root := "."
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		root = filepath.Join("..", root)
	}
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true}
	r.Mapper = func(of reflect.Type) *jsonschema.Schema { return s.shape(r, of) }
	types := map[reflect.Type]bool{}
	for _, form := range slices.Concat(s.Forms, s.Any) {
		collect(reflect.TypeOf(form), types)
	}
	comments(t, r, root, types)
	out := &jsonschema.Schema{Version: jsonschema.Version, ID: jsonschema.ID("https://hostlab.invalid/schema/" + name),
		Title:       s.Title,
		Description: s.Description, Definitions: jsonschema.Definitions{}}
	for _, form := range s.Forms {
		v, name := reflect.ValueOf(form), reflect.TypeOf(form).Name()
		one := out.Definitions[name]
		if one == nil {
			one = r.Reflect(form)
			maps.Copy(out.Definitions, one.Definitions)
			one.Definitions, one.Version = nil, ""
			schema, _ := one.Properties.Get("schema")
			*schema = jsonschema.Schema{Const: v.FieldByName("Schema").Interface()}
			out.Definitions[name] = one
			out.OneOf = append(out.OneOf, &jsonschema.Schema{Ref: "#/$defs/" + name})
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
	for of := range types {
		if d := out.Definitions[of.Name()]; d != nil {
			nullable(of, d)
		}
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	Equal(t, filepath.Join(root, "docs", "schema", name), string(text)+"\n")
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
		dir := strings.TrimPrefix(of.PkgPath(), "hostlab/")
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
