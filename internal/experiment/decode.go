package experiment

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// decode reads a file strictly into its tables, and checks each value by itself. Of what is no TOML, or of
// another type, only the first is reported.
func (p *parser) decode(data []byte) {
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&p.f)
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		for i := range missing.Errors {
			p.unknownKey(&missing.Errors[i])
		}
	} else if bad, ok := errors.AsType[*toml.DecodeError](err); ok {
		p.wrongType(bad)
		return
	} else if err != nil {
		p.add(p.whole(), "not TOML: %v", err)
		return
	}
	work := struct {
		Workload *WorkloadTable `toml:"workload"`
	}{&p.work}
	if bad, ok := errors.AsType[*toml.DecodeError](toml.Unmarshal(data, &work)); ok {
		p.wrongType(bad)
		return
	}
	p.limits("workload", 0, reflect.ValueOf(&p.work).Elem())
	v := reflect.ValueOf(&p.f).Elem()
	for i := range v.NumField() {
		table := v.Type().Field(i).Tag.Get("toml")
		switch x := v.Field(i); {
		case x.Kind() == reflect.Struct:
			p.limits(table, 0, x)
		case x.Kind() == reflect.Pointer && !x.IsNil():
			p.limits(table, 0, x.Elem())
		case x.Kind() == reflect.Slice:
			if x.Len() > maxTables {
				p.add(p.at(table, maxTables, ""), "%d tables [[%s]]; at most %d are read", x.Len(), table, maxTables)
				continue
			}
			for n := range x.Len() {
				p.limits(table, n, x.Index(n))
			}
		case table == "schema" && x.Int() > 1:
			p.add(p.at("", 0, table), "schema is %d; this hostlab reads version 1", x.Int())
		}
	}
}

// place is where something stands in a study file, or, without a line, what on the command line said it.
type place struct {
	source string // the file, or a flag as it was typed
	line   int
}

var header = regexp.MustCompile(`^\[\[?\s*([A-Za-z_]+)\s*\]`)

// at is the line of a key in the n-th table of a name, or else of that table. It is line 0 where a file writes
// them otherwise, as by dotted keys.
func (p *parser) at(table string, n int, key string) place {
	if given, ok := p.set[key]; ok && table == "workload" {
		return given
	}
	at, inside := place{source: p.file}, table == ""
	for i, l := range p.lines {
		l = strings.TrimSpace(l)
		if m := header.FindStringSubmatch(l); m != nil {
			if inside = m[1] == table && n == 0; inside {
				at.line = i + 1
			}
			if m[1] == table {
				n--
			}
		} else if k, _, ok := strings.Cut(l, "="); ok && inside && strings.Trim(k, ` "'`) == key {
			at.line = i + 1
			return at
		}
	}
	return at
}

// unknownKey reports a key that the file does not have.
func (p *parser) unknownKey(e *toml.DecodeError) {
	path, at := e.Key(), place{source: p.file}
	at.line, _ = e.Position()
	own, top := keysOf(path[0]), keysOf("")
	last := screen.Short(path[len(path)-1])
	if len(path) > 1 && own != nil {
		p.addHint(at, screen.Meant(path[1], own), "%s has no key %s", titled(path[0]), screen.Short(path[1]))
		return
	}
	for _, table := range top {
		if slices.Contains(keysOf(table), path[0]) {
			p.addHint(at, last+" under "+titled(table), "%s stands outside of its table", last)
			return
		}
	}
	p.addHint(at, screen.Meant(path[0], top), "there is no table or key %s", screen.Short(path[0]))
}

// mismatch is how go-toml says that a value has another type than its key.
var mismatch = regexp.MustCompile(`cannot (?:decode TOML|store an) (.*?) in(?:to)? .*?(\S+)$`)

// wanted are the types of keys in words, by the ends of their names.
var wanted = []struct{ end, words string }{{"span", `a time in quotes, such as "150ms"`}, {"share", `a share, such as "3%" or 0.03`},
	{"int", "a whole number"}, {"int64", "a whole number"}, {"float64", "a number"}, {"bool", "true or false"},
	{"Table", "a table"},
	{"struct", "one table"}, {"map", "one table"}, {"", "text in quotes, or a list of it"}}

// wrongType reports a value of a type that its key does not take, or what is no TOML.
func (p *parser) wrongType(e *toml.DecodeError) {
	at := place{source: p.file}
	at.line, _ = e.Position()
	text := strings.TrimPrefix(e.Error(), "toml: ")
	switch key, m := strings.Join(e.Key(), "."), mismatch.FindStringSubmatch(text); {
	case m != nil:
		words := ""
		for i := 0; words == ""; i++ {
			if strings.HasSuffix(m[2], wanted[i].end) {
				words = wanted[i].words
			}
		}
		if strings.HasPrefix(m[2], "[]") {
			words = "a list"
		}
		p.add(at, "%s: expected %s, found a TOML %s", key, words, m[1])
	case key != "":
		p.add(at, "%s: %s", key, text)
	default:
		p.add(at, "not TOML: %s", text)
	}
}

// tables are the types of those that have keys of their own.
var tables = map[string]reflect.Type{"": reflect.TypeFor[File](), "study": reflect.TypeFor[StudyTable](),
	"design": reflect.TypeFor[DesignTable](), "factor": reflect.TypeFor[FactorTable](),
	"workload": reflect.TypeFor[WorkloadTable](),
	"response": reflect.TypeFor[ResponseTable](), "contrast": reflect.TypeFor[ContrastTable](),
	"guard": reflect.TypeFor[GuardTable](),
	"harm":  reflect.TypeFor[HarmTable]()}

// keysOf lists the keys of a table, "" for the file's.
func keysOf(table string) (keys []string) {
	if t := tables[table]; t != nil {
		for i := range t.NumField() {
			if key := t.Field(i).Tag.Get("toml"); key != "" {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// titled is a table's header.
func titled(table string) string {
	if slices.Contains([]string{"factor", "response", "contrast"}, table) {
		return "[[" + table + "]]"
	}
	return "[" + table + "]"
}

// limits checks each value of a table against its tags.
func (p *parser) limits(table string, n int, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		param, x := texts[f.Type], v.Field(i)
		if param.Name = f.Tag.Get("toml"); param.Name == "" {
			continue
		}
		for x.Kind() == reflect.Pointer && !x.IsNil() {
			x = x.Elem()
		}
		required := false
		for _, tag := range strings.Split(f.Tag.Get("jsonschema"), ",") {
			switch key, value, _ := strings.Cut(tag, "="); key {
			case "required":
				required = true
			case "minimum":
				param.Min = number(value)
			case "maximum":
				param.Max = number(value)
			case "enum":
				param.Choices = append(param.Choices, value)
			}
		}
		if low, high, ok := strings.Cut(f.Tag.Get("limits"), ","); ok {
			param.Min, param.Max = number(low), number(high)
		}
		switch {
		case x.IsZero() && required:
			p.add(p.at(table, n, ""), "%s needs %s", titled(table), param.Name)
			continue
		case x.IsZero() && x.CanAddr() && v.Field(i).Kind() != reflect.Pointer:
			continue // not given
		}
		if x.Kind() == reflect.Slice {
			if x.Len() > maxList {
				p.add(p.at(table, n, param.Name), "%s: a list of %d; at most %d are read", param.Name, x.Len(), maxList)
				continue
			}
			of := texts[x.Type().Elem()]
			param.Form, param.Wants, param.Choices = of.Form, of.Wants, of.Choices
			for k := range x.Len() {
				p.limit(table, n, param, x.Index(k))
			}
			continue
		}
		if v.Field(i).Kind() == reflect.Pointer {
			param.Choices = append(param.Choices, texts[x.Type()].Choices...)
		}
		p.limit(table, n, param, x)
	}
}

// limit checks one value.
func (p *parser) limit(table string, n int, param workload.Param, x reflect.Value) {
	var v any
	bad := ""
	switch of := x.Interface().(type) {
	case span:
		param.Kind, v, bad = workload.Duration, of.Duration, of.bad
	case share:
		param.Kind, v, bad = workload.Share, of.float64, of.bad
	default:
		switch x.Kind() {
		case reflect.String:
			param.Kind, v = workload.String, x.String()
		case reflect.Int, reflect.Int64:
			param.Kind, v = workload.Int, x.Int()
		case reflect.Float64:
			param.Kind, v = workload.Float, x.Float()
		default:
			return
		}
	}
	at := p.at(table, n, param.Name)
	if bad != "" {
		p.add(at, "%s: %s", param.Name, bad)
	} else if _, err := workload.Convert(param, v); err != nil {
		wrong, _ := errors.AsType[*workload.ParamError](err)
		if hint := unitHint(x.String()); param.Name == "unit" && hint != "" {
			wrong.Hint = "did you mean " + hint + "?"
		}
		p.param(at, param.Name, wrong)
	}
}

// number reads one of a tag.
func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}
