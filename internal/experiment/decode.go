package experiment

import (
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// decode reads a file strictly into its tables, and checks each value by itself. It reports whether there are tables
// to check by what they mean.
func (p *parser) decode(data []byte) bool {
	var doc map[string]any
	if bad, ok := errors.AsType[*toml.DecodeError](toml.Unmarshal(data, &doc)); ok {
		line, _ := bad.Position()
		text := strings.TrimPrefix(bad.Error(), "toml: ")
		if key := strings.Join(bad.Key(), "."); key != "" {
			text = key + ": " + text
		} else {
			text = "not TOML: " + text
		}
		p.add(place{p.file, line}, "%s", text)
		return false
	}
	p.fill("", 0, reflect.ValueOf(&p.f).Elem(), doc)
	if len(p.list) == 0 { // numbers that are levels, as they are written: 6.10 is not 6.1
		others := p.f.Workload
		p.f = File{}
		if err := toml.Unmarshal(data, &p.f); err != nil {
			p.add(p.whole(), "%v", err)
		}
		p.f.Workload = others
	}
	if p.f.Schema > 1 {
		p.add(p.at("", 0, "schema"), "schema is %d; this hostlab reads version 1", p.f.Schema)
		return false
	}
	return true
}

// fill puts the keys of a table into its struct: the n-th of its name, "" for the file.
func (p *parser) fill(table string, n int, to reflect.Value, from map[string]any) {
	own := keysOf(table)
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if i := slices.Index(own, key); i < 0 {
			p.unknownKey(table, n, key)
		} else if of := to.Field(i); tables[key] != nil && table == "" {
			known, extra := len(p.list), p.extra
			p.table(key, of, from[key])
			p.there[key], p.bad[key] = true, len(p.list)-known > p.extra-extra
		} else {
			p.key(p.at(table, n, key), table, to, key, from[key])
		}
	}
	for i, key := range own {
		if _, ok := from[key]; !ok && table != "" && workload.ParamOf(to.Type().Field(i)).Required {
			p.add(p.at(table, n, ""), "%s needs %s", titled(table), key)
		}
	}
}

// table fills one, or several of a name.
func (p *parser) table(name string, to reflect.Value, v any) {
	one, isTable := v.(map[string]any)
	list, isList := v.([]any)
	switch {
	case isTable && name == "workload": // whose other keys are its workload's
		p.f.Workload = maps.Clone(one)
		for _, key := range keysOf(name) {
			delete(p.f.Workload, key)
		}
		maps.DeleteFunc(one, func(key string, _ any) bool { return !slices.Contains(keysOf(name), key) })
		p.fill(name, 0, reflect.ValueOf(&p.work).Elem(), one)
	case isTable && to.Kind() == reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		p.fill(name, 0, to.Elem(), one)
	case isTable && to.Kind() == reflect.Struct:
		p.fill(name, 0, to, one)
	case isList && to.Kind() == reflect.Slice && len(list) > maxTables:
		p.add(p.at(name, maxTables, ""), "%d tables [[%s]]; at most %d are read", len(list), name, maxTables)
	case isList && to.Kind() == reflect.Slice:
		to.Set(reflect.MakeSlice(to.Type(), len(list), len(list)))
		for i, each := range list {
			if one, ok := each.(map[string]any); ok {
				p.fill(name, i, to.Index(i), one)
			} else {
				p.add(p.at("", 0, name), "%s: expected tables %s", name, titled(name))
			}
		}
	default:
		at := p.at(name, 0, "")
		if at.line == 0 {
			at = p.at("", 0, name)
		}
		what := "one table"
		if to.Kind() == reflect.Slice {
			what = "tables"
		}
		p.add(at, "%s: expected %s %s", name, what, titled(name))
	}
}

func (p *parser) key(at place, table string, of reflect.Value, key string, v any) {
	i := slices.Index(keysOf(table), key)
	f, to := of.Type().Field(i), of.Field(i)
	param := workload.ParamOf(f)
	if list, ok := v.([]any); ok && len(list) > maxList {
		p.add(at, "%s: a list of %d; at most %d are read", param.Name, len(list), maxList)
		return
	}
	elem := f.Type
	switch elem.Kind() {
	case reflect.Pointer:
		elem = elem.Elem()
		to.Set(reflect.New(elem))
		to = to.Elem()
	case reflect.Slice:
		elem = elem.Elem()
	}
	if form, ok := texts[elem]; ok {
		param.Form, param.Wants, param.Choices = form.Form, form.Wants, form.Choices
	}
	if bad, ok := errors.AsType[*workload.ParamError](param.Set(to, v)); ok {
		if text, _ := v.(string); param.Name == "unit" && unitHint(text) != "" {
			bad.Hint = "did you mean " + unitHint(text) + "?"
		}
		p.param(at, param.Name, bad)
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

// unknownKey reports a key that the file, or the n-th table of a name, does not have.
func (p *parser) unknownKey(table string, n int, key string) {
	at, short := p.at(table, n, key), screen.Short(key)
	if table != "" {
		meant := screen.Meant(key, keysOf(table))
		if meant == "" {
			p.extra++
		}
		p.addHint(at, meant, "%s has no key %s", titled(table), short)
		return
	}
	for _, other := range keysOf("") {
		if slices.Contains(keysOf(other), key) {
			p.addHint(at, short+" under "+titled(other), "%s stands outside of its table", short)
			return
		}
	}
	if at.line == 0 {
		at = p.at(key, 0, "")
	}
	meant := screen.Meant(key, keysOf(""))
	p.bad[meant] = true
	p.addHint(at, meant, "there is no table or key %s", short)
}

// tables are the types of those that have keys of their own.
var tables = map[string]reflect.Type{"": reflect.TypeFor[File](), "study": reflect.TypeFor[StudyTable](),
	"design": reflect.TypeFor[DesignTable](), "factor": reflect.TypeFor[FactorTable](),
	"workload": reflect.TypeFor[WorkloadTable](),
	"response": reflect.TypeFor[ResponseTable](), "contrast": reflect.TypeFor[ContrastTable](),
	"guard": reflect.TypeFor[GuardTable](),
	"harm":  reflect.TypeFor[HarmTable]()}

// keysOf lists the keys of a table, "" for the file's, in the order of their fields.
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
