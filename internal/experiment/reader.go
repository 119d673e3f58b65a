package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// reader collects problems while a study is read.
type reader struct{ list []Problem }

// maxProblems is how many are reported: more come from one mistake.
const maxProblems = 50

func (r *reader) add(at place, format string, a ...any) { r.addHint(at, "", format, a...) }

func (r *reader) addHint(at place, hint, format string, a ...any) {
	r.list = append(r.list, Problem{at.source, at.line, at.column, fmt.Sprintf(format, a...), hint})
}

// err returns what was collected, in the order of the file.
func (r *reader) err() error {
	if len(r.list) == 0 {
		return nil
	}
	slices.SortStableFunc(r.list, func(a, b Problem) int {
		if (a.Line == 0) != (b.Line == 0) { // the command line and the whole file come last
			return b.Line - a.Line
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	r.list = slices.Compact(r.list)
	if more := len(r.list) - maxProblems; more > 0 {
		r.list = append(r.list[:maxProblems:maxProblems], Problem{File: r.list[0].File,
			Text: fmt.Sprintf("and %d more problems", more)})
	}
	return &Problems{r.list}
}

// placed is a value with its place.
type placed[T any] struct {
	v  T
	at place
}

// fields are the values of a table that have the right form, by key.
type fields struct {
	at   place // of the table
	have map[string]found
	rest []*entry // keys that the section does not list, where it is open
}

// found is a key's value: v is nil where it cannot be used.
type found struct {
	v    any
	at   place
	from *value
}

// has reports whether there is a key that can be used.
func (f fields) has(key string) bool { return f.have[key].v != nil }

// present reports whether there is a key, usable or not.
func (f fields) present(key string) bool { _, ok := f.have[key]; return ok }

// wrong reports whether there is a key that cannot be used, which was reported.
func (f fields) wrong(key string) bool { return f.present(key) && !f.has(key) }

// place is that of a key's value, or that of the table.
func (f fields) place(key string) place {
	if x, ok := f.have[key]; ok {
		return x.at
	}
	return f.at
}

// get returns a key's value, or other.
func get[T any](f fields, key string, other T) T {
	if v, ok := f.have[key].v.(T); ok {
		return v
	}
	return other
}

// list returns the elements of a list with their places.
func list[T any](f fields, key string) (out []placed[T]) {
	for i, v := range get(f, key, []T(nil)) {
		out = append(out, placed[T]{v, f.have[key].from.list[i].at})
	}
	return out
}

// named is a key of a table of texts.
type named struct {
	name, text string
	at, textAt place
}

// pairsOf returns the keys of a table of texts with their places.
func pairsOf(f fields, key string) (out []named) {
	texts := get(f, key, map[string]string(nil))
	if texts == nil {
		return nil
	}
	for _, e := range f.have[key].from.keys {
		out = append(out, named{e.name, texts[e.name], e.at, e.value.at})
	}
	return out
}

// table reads a table by its section: unknown keys and values of the wrong form
// are problems. v is nil where there is no such table.
func (r *reader) table(s section, v *value, nowhere place) fields {
	f := fields{at: nowhere, have: map[string]found{}}
	if v == nil {
		return f
	}
	f.at = v.at
	if v.kind != unstable.InlineTable {
		r.add(v.at, "%s is not written as a table", s.title())
		return f
	}
	for _, e := range v.keys {
		k, ok := s.key(e.name)
		switch {
		case !ok && s.open:
			f.rest = append(f.rest, e)
		case !ok:
			r.addHint(e.at, screen.Meant(e.name, s.names()), "%s has no key %s", s.title(), screen.Short(e.name))
		default:
			x, at := r.read(k, e.value)
			f.have[k.Name] = found{x, at, e.value}
		}
	}
	for _, k := range s.keys {
		if _, there := f.have[k.Name]; k.Required && !there {
			r.add(f.at, "%s needs %s", s.title(), k.Name)
		}
	}
	return f
}

// read converts a value to the Go type of the key's kind; nil where it reported a problem.
func (r *reader) read(k workload.Param, v *value) (any, place) {
	if k.Kind == workload.String && k.Form == nil && k.Choices == nil {
		k.Form, k.Wants = anything, someText
	}
	x, err := v.convert(k)
	if err != nil {
		return nil, r.refuse(err, v)
	}
	length := -1
	switch x := x.(type) {
	case []string:
		length = len(x)
	case []int64:
		length = len(x)
	}
	switch {
	case length == 0:
		r.add(v.at, "%s: the list is empty", k.Name)
	case length > maxList:
		r.add(v.at, "%s: a list of %d; at most %d are read", k.Name, length, maxList)
	default:
		return x, v.at
	}
	return nil, v.at
}

// refuse reports why a value cannot be used, at the element or key of it that is wrong, and
// returns that place.
func (r *reader) refuse(err error, v *value) place {
	p, ok := errors.AsType[*workload.ParamError](err)
	if !ok {
		r.add(v.at, "%v", err)
		return v.at
	}
	at := v.at
	name, key, _ := strings.Cut(p.Name, ".")
	if i := p.Element - 1; i >= 0 && i < len(v.list) {
		at = v.list[i].at
	} else if e := v.get(key); e != nil {
		at = e.value.at
	}
	if h := unitHint(v.text); name == "unit" && h != "" {
		p.Hint = "did you mean " + h + "?"
	}
	r.param(at, name, p)
	return at
}

// param reports an error of a key or a parameter.
func (r *reader) param(at place, name string, p *workload.ParamError) {
	text, hint := p.Text, ""
	if near, ok := strings.CutPrefix(p.Hint, "did you mean "); ok {
		hint = strings.TrimSuffix(near, "?")
	} else if p.Hint != "" {
		text += "; " + p.Hint
	}
	r.addHint(at, hint, "%s: %s", name, text)
}

// convert gives a value the Go type of a parameter.
func (v *value) convert(p workload.Param) (any, error) {
	if v.kind == fromCommandLine {
		return workload.ParseText(p, v.text)
	}
	// Levels keep the text of numbers: 1.0 and 1 are two names.
	return workload.Convert(p, v.plain(p.Numbers || p.Kind == workload.List || p.Kind == workload.Table))
}

// plain is a value as workload.Convert takes it, numbers as text if so asked.
func (v *value) plain(asText bool) any {
	switch v.kind {
	case unstable.Array:
		list := make([]any, len(v.list))
		for i, e := range v.list {
			list[i] = e.plain(asText)
		}
		return list
	case unstable.InlineTable:
		m := map[string]any{}
		for _, e := range v.keys {
			m[e.name] = e.value.plain(asText)
		}
		return m
	case unstable.Bool:
		if !asText {
			return v.text == "true"
		}
	case unstable.Integer, unstable.Float:
		bare := strings.ReplaceAll(v.text, "_", "")
		if n, err := strconv.ParseInt(bare, 0, 64); err == nil && !asText {
			return n
		}
		if x, err := strconv.ParseFloat(bare, 64); err == nil && !asText {
			return x
		}
		return bare
	case unstable.String:
	default:
		return date(v.text)
	}
	return v.text
}

// date is a date or time, which no key takes without quotes.
type date string
