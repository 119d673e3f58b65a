package workload

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"hostlab/internal/lazyre"
	"hostlab/internal/screen"
)

// Params points to a workload's own struct of parameters: a field each, whose tags name it and limit it, and whose
// comment describes it to people (studies.Help).
type Params any

// Param is one parameter, or a key of a study's table.
type Param struct {
	Name     string
	Kind     string // what people call its type
	Default  string // as text; "": none
	Required bool   // has no default
	Unit     string // shown behind plain numbers
	Choices  []string
	Form     *lazyre.Regexp // that a text, and each element of a list, must match; nil: any
	Wants    string         // Form in words, as in "a name begins with a letter"
	Over     string         // a parameter that has no effect beside any value of this one but the default
	Min, Max float64        // range of numbers, seconds and bytes; both 0: any

	index []int // of the field
	words kind
}

// ParamOf reads a field. Tags: toml is its name; jsonschema has minimum, maximum, enum and required, and limits the
// range of what JSON has no number for, as of times in seconds.
func ParamOf(f reflect.StructField) Param {
	p := Param{Name: f.Tag.Get("toml"), Unit: f.Tag.Get("unit"), Over: f.Tag.Get("over"), index: f.Index}
	of := f.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	p.words = kindOf(of)
	p.Kind = p.words.name
	low, high, _ := strings.Cut(f.Tag.Get("limits"), ",")
	for _, tag := range strings.Split(f.Tag.Get("jsonschema"), ",") {
		switch key, value, _ := strings.Cut(tag, "="); key {
		case "required":
			p.Required = true
		case "minimum":
			low = value
		case "maximum":
			high = value
		case "enum":
			p.Choices = append(p.Choices, value)
		}
	}
	p.Min, _ = strconv.ParseFloat(low, 64) // without one, 0
	p.Max, _ = strconv.ParseFloat(high, 64)
	if p.Kind == "share" && p.Max == 0 {
		p.Max = 1
	}
	return p
}

// List returns the workload's parameters, in the order of their fields.
func (d Description) List() (list []Param) {
	if d.Params == nil {
		return nil
	}
	v := reflect.ValueOf(d.Params).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Anonymous {
			continue
		}
		p := ParamOf(f)
		if !p.Required {
			p.Default = textOf(v.FieldByIndex(f.Index))
		}
		list = append(list, p)
	}
	return list
}

// Param returns the parameter of that name.
func (d Description) Param(name string) (Param, bool) {
	list := d.List()
	i := slices.IndexFunc(list, func(p Param) bool { return p.Name == name })
	if i < 0 {
		return Param{}, false
	}
	return list[i], true
}

// ParamError is a parameter that cannot be used. Its text is one line.
type ParamError struct {
	Name   string // of the parameter, as given
	Text   string // what is wrong
	Hint   string // what to do; may be empty
	Passes bool   // it may be right a moment later, as of a server that starts
}

func Wrong(name, text, hint string) error { return &ParamError{Name: name, Text: text, Hint: hint} }

func (e *ParamError) Error() string {
	if e.Hint == "" {
		return fmt.Sprintf("parameter %s: %s", e.Name, e.Text)
	}
	return fmt.Sprintf("parameter %s: %s; %s", e.Name, e.Text, e.Hint)
}

// Typed is a value as the command line and levels of factors have it. A list is words with spaces between, or a JSON
// array where a word is empty or holds a space; a table is name=value words, or a JSON object.
type Typed string

// Check returns the workload's defaults with the given values in their place: what a TOML file holds, or Typed. The
// error joins a *ParamError for each that cannot be used, in the order of their names.
func Check(d Description, given map[string]any) (Params, error) {
	var errs []error
	if d.Params == nil {
		d.Params = &struct{}{}
	}
	list, out := d.List(), copied(d.Params)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if i := slices.IndexFunc(list, func(p Param) bool { return p.Name == name }); i < 0 {
			errs = append(errs, unknownParam(d.Name, list, name))
		} else {
			errs = append(errs, list[i].Set(out.Elem().FieldByIndex(list[i].index), given[name]))
		}
	}
	for _, p := range list {
		if _, ok := given[p.Name]; !ok && p.Required {
			errs = append(errs, Wrong(p.Name, "missing",
				fmt.Sprintf("workload %s needs it: 'hostlab workload show %[1]s'", d.Name)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out.Interface(), nil
}

func copied(params Params) reflect.Value {
	out := reflect.New(reflect.TypeOf(params).Elem())
	out.Elem().Set(reflect.ValueOf(params).Elem())
	return out
}

func unknownParam(of string, list []Param, name string) error {
	var known []string
	for _, p := range list {
		known = append(known, p.Name)
	}
	return Wrong(name, "workload "+of+" has none of that name",
		cmp.Or(meant(name, known), "it has "+strings.Join(known, ", ")))
}

// meant is a hint at what was perhaps meant; "": nothing is near.
func meant(text string, known []string) string {
	if near := screen.Meant(text, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// With returns a copy of parameters in which one is as typed. The error is a *ParamError.
func With(params Params, name, text string) (Params, error) {
	out := copied(params)
	p, _ := Description{Params: params}.Param(name)
	if err := p.Set(out.Elem().FieldByIndex(p.index), Typed(text)); err != nil {
		return nil, err
	}
	return out.Interface(), nil
}

// Value returns a parameter as its struct has it, nil where it has none of that name.
func Value(params Params, name string) any {
	if p, ok := (Description{Params: params}).Param(name); ok {
		return reflect.ValueOf(params).Elem().FieldByIndex(p.index).Interface()
	}
	return nil
}

// Text writes a value as With reads it.
func (p Param) Text(params Params) string {
	return textOf(reflect.ValueOf(params).Elem().FieldByIndex(p.index))
}

// Canonical is a typed value as Text writes it. The error is a *ParamError.
func (p Param) Canonical(params Params, text string) (string, error) {
	params, err := With(params, p.Name, text)
	if err != nil {
		return "", err
	}
	return p.Text(params), nil
}

// Set puts a value into a field, from a TOML file or Typed, and checks it. The error is a *ParamError.
func (p Param) Set(field reflect.Value, v any) error {
	text, typed := v.(Typed)
	_, unit := field.Addr().Interface().(encoding.TextUnmarshaler)
	if s, is := v.(string); is {
		text, typed = Typed(s), unit
	}
	if !utf8.ValidString(string(text)) { // JSON is UTF-8 (RFC 8259)
		return Wrong(p.Name, fmt.Sprintf("%q is not UTF-8, and a record could not hold it", screen.Short(string(text))), "")
	}
	if typed {
		if hint, err := setText(field, string(text)); err != nil {
			return Wrong(p.Name, fmt.Sprintf("%q is not %s", screen.Short(string(text)), p.words.typed), hint)
		}
		return p.Within(field)
	}
	b, err := toml.Marshal(map[string]any{"v": v})
	if err == nil {
		to := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "V", Type: field.Type(), Tag: `toml:"v"`}}))
		if err = toml.Unmarshal(b, to.Interface()); err == nil {
			field.Set(to.Elem().Field(0))
			return p.Within(field)
		}
	}
	one := func(name string, v any) *ParamError {
		of := field.Type().Elem()
		bad, _ := errors.AsType[*ParamError](Param{Name: name, words: kindOf(of)}.Set(reflect.New(of).Elem(), v))
		return bad
	}
	switch given := v.(type) {
	case []any:
		for i := 0; field.Kind() == reflect.Slice && i < len(given); i++ {
			if bad := one(p.Name, given[i]); bad != nil {
				return Wrong(p.Name, fmt.Sprintf("element %d of the list: %s", i+1, bad.Text), "")
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(given)) {
			if field.Kind() != reflect.Map {
				break
			}
			if bad := one(p.Name+"."+key, given[key]); bad != nil {
				return bad
			}
		}
	}
	return Wrong(p.Name, fmt.Sprintf("expected %s, found %s", p.words.file, describe(v)), p.hint(v))
}

// hint says how a value of another type is perhaps meant.
func (p Param) hint(v any) string {
	text := fmt.Sprint(v)
	switch v.(type) {
	case string:
		if p.Kind == "list" {
			return fmt.Sprintf("write each word by itself: %s", asJSON(strings.Fields(text)))
		}
	case int64, float64:
		switch p.Kind {
		case "string":
			return fmt.Sprintf("put it in quotes: %q", text)
		case "duration":
			return fmt.Sprintf("give its unit, as in \"%ss\" or \"%[1]sms\"", text)
		}
	}
	return ""
}

// setText reads a text into a field. hint says how it is written.
func setText(to reflect.Value, text string) (hint string, err error) {
	if u, ok := to.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return "", u.UnmarshalText([]byte(text))
	}
	word := strings.TrimSpace(text)
	switch to.Kind() {
	case reflect.String:
		to.SetString(text)
	case reflect.Int, reflect.Int64:
		var n int64
		if n, err = strconv.ParseInt(word, 10, 64); err == nil {
			to.SetInt(n)
		}
	case reflect.Float64:
		var f float64
		if f, err = strconv.ParseFloat(word, 64); err == nil {
			to.SetFloat(f)
		}
	case reflect.Bool:
		var b bool
		if b, err = parseBool(strings.ToLower(word)); err == nil {
			to.SetBool(b)
		}
	case reflect.Slice:
		list, err := SplitWords(word)
		if to.Type().Elem().Kind() != reflect.String {
			return "", strconv.ErrSyntax // only files have lists of numbers
		}
		to.Set(reflect.MakeSlice(to.Type(), len(list), len(list)))
		for i, w := range list {
			to.Index(i).SetString(w)
		}
		return "", err
	default:
		table, hint, err := parseTable(word)
		to.Set(reflect.MakeMap(to.Type()))
		for name, v := range table {
			to.SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(v).Convert(to.Type().Elem()))
		}
		return hint, err
	}
	return "", err
}

// SplitWords reads a list as Text writes it.
func SplitWords(text string) (list []string, err error) {
	if strings.HasPrefix(text, "[") {
		return list, json.Unmarshal([]byte(text), &list)
	}
	return strings.Fields(text), nil
}

func parseBool(s string) (bool, error) {
	switch s {
	case "yes", "on":
		return true, nil
	case "no", "off":
		return false, nil
	}
	return strconv.ParseBool(s)
}

func parseTable(text string) (out map[string]string, hint string, err error) {
	out = map[string]string{}
	if strings.HasPrefix(text, "{") {
		return out, `write NAME=value NAME=value, or {"NAME": "value"}`, json.Unmarshal([]byte(text), &out)
	}
	for _, w := range strings.Fields(text) {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, `values with spaces need {"NAME": "value"}`, strconv.ErrSyntax
		}
		out[name] = value
	}
	return out, "", nil
}

// textOf writes a field as setText reads it.
func textOf(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case fmt.Stringer:
		return x.String()
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case []Word:
		if slices.ContainsFunc(x, func(w Word) bool {
			f := strings.Fields(string(w))
			return len(f) != 1 ||
				f[0] != string(w)
		}) ||
			len(x) > 0 && strings.HasPrefix(string(x[0]), "[") {
			return asJSON(x)
		}
		return strings.Join(Strings(x), " ")
	case map[string]Word:
		words := make([]string, 0, len(x))
		for _, name := range slices.Sorted(maps.Keys(x)) {
			words = append(words, name+"="+string(x[name]))
		}
		plain := strings.Join(words, " ")
		if back, _, err := parseTable(plain); err != nil || !maps.EqualFunc(back, x, func(a string, b Word) bool {
			return a == string(b)
		}) {
			return asJSON(x)
		}
		return plain
	}
	return fmt.Sprint(v.Interface())
}

func asJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v) // strings always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// describe names a value that is of the wrong type.
func describe(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("the text %q", screen.Short(v))
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return screen.Short(fmt.Sprint(v))
}
