package experiment

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"

	"hostlab/internal/screen"
	"hostlab/internal/spelling"
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
		r.list = append(r.list[:maxProblems:maxProblems], Problem{File: r.list[0].File, Text: fmt.Sprintf("and %d more problems", more)})
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
	have map[string]placed[any]
	rest []*entry // keys that the section does not list, where it is open
}

func (f fields) has(key string) bool { _, ok := f.have[key]; return ok }

// at is the place of a key's value, or that of the table.
func (f fields) place(key string) place {
	if v, ok := f.have[key]; ok {
		return v.at
	}
	return f.at
}

// get returns a key's value, or other.
func get[T any](f fields, key string, other T) T {
	if v, ok := f.have[key]; ok {
		return v.v.(T)
	}
	return other
}

// table reads a table by its section: unknown keys and values of the wrong form
// are problems, and not in the result. v is nil where there is no such table.
func (r *reader) table(s section, v *value, nowhere place) fields {
	f := fields{at: nowhere, have: map[string]placed[any]{}}
	if v == nil {
		return f
	}
	f.at = v.at
	if v.kind != unstable.InlineTable {
		r.add(v.at, "%s is a table, not %s", s.title(), describe(v))
		return f
	}
	for _, e := range v.keys {
		k, ok := s.key(e.name)
		switch {
		case !ok && s.open:
			f.rest = append(f.rest, e)
		case !ok:
			r.addHint(e.at, spelling.Meant(e.name, s.names()), "%s has no key %s", s.title(), screen.Short(e.name))
		default:
			if x, wrong := read(k, e.value); wrong != nil {
				at := e.value.at
				if wrong.at.source != "" {
					at = wrong.at
				}
				r.addHint(at, wrong.hint, "%s: %s", k.name, wrong.text)
				f.have[k.name+"!"] = placed[any]{nil, at} // there, though not usable
			} else {
				f.have[k.name] = placed[any]{x, e.value.at}
			}
		}
	}
	for _, k := range s.keys {
		if k.required && !f.has(k.name) && !f.has(k.name+"!") {
			r.add(f.at, "%s needs %s", s.title(), k.name)
		}
	}
	return f
}

// mismatch says what is wrong with a value.
type mismatch struct {
	text, hint string
	at         place // of an element, where it is one
}

func wrongf(format string, a ...any) *mismatch { return &mismatch{text: fmt.Sprintf(format, a...)} }

var nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// read converts a value to the Go type of the key's kind.
func read(k key, v *value) (any, *mismatch) {
	switch k.kind {
	case text, name, level, margin:
		s, wrong := readText(k, v)
		if wrong != nil {
			return nil, wrong
		}
		return s, nil
	case boolean:
		if v.kind != unstable.Bool {
			return nil, wrongf("expected true or false, found %s", describe(v))
		}
		return v.text == "true", nil
	case integer:
		if v.kind != unstable.Integer {
			return nil, wrongf("expected a whole number, found %s", describe(v))
		}
		n, err := strconv.ParseInt(v.text, 0, 64)
		if errors.Is(err, strconv.ErrRange) {
			return nil, wrongf("%s is too large", screen.Short(v.text))
		} else if err != nil { // from the command line
			return nil, wrongf("%s is not a whole number", screen.Short(v.text))
		}
		return n, outside(k, float64(n), v.text)
	case number, share:
		return readNumber(k, v)
	case duration:
		return readDuration(k, v)
	case integers:
		return each(v, "whole numbers", func(e *value) (int, *mismatch) {
			x, wrong := read(key{kind: integer, min: k.min, max: k.max}, e)
			if wrong != nil {
				return 0, wrong
			}
			return int(x.(int64)), nil
		})
	case levels:
		return each(v, "levels", func(e *value) (string, *mismatch) { return readText(key{kind: level}, e) })
	case words:
		return each(v, "texts", func(e *value) (string, *mismatch) { return readText(key{kind: text, choices: k.choices}, e) })
	case command:
		return readCommand(v)
	case pairs:
		return readPairs(v)
	}
	return nil, wrongf("has a form that is not known") // a mistake in keys.go, which a test finds
}

func readText(k key, v *value) (string, *mismatch) {
	s := v.text
	switch v.kind {
	case unstable.String:
	case unstable.Integer, unstable.Float, unstable.Bool:
		if k.kind != level && k.kind != margin {
			return "", &mismatch{text: "expected text in quotes, found " + describe(v), hint: strconv.Quote(s)}
		}
		s = strings.ReplaceAll(s, "_", "")
	default:
		return "", wrongf("expected %s, found %s", map[bool]string{true: "a level", false: "text in quotes"}[k.kind == level], describe(v))
	}
	switch {
	case len(k.choices) > 0 && !slices.Contains(k.choices, s):
		var list []string
		for _, c := range k.choices {
			list = append(list, map[bool]string{true: `""`, false: c}[c == ""])
		}
		return "", &mismatch{text: fmt.Sprintf("%q: expected %s", screen.Short(s), strings.Join(list, ", ")), hint: meant(k, s)}
	case s == "" && len(k.choices) == 0:
		return "", wrongf("an empty text says nothing")
	case k.kind == name && !nameForm.MatchString(s):
		return "", wrongf("%q: a name has letters, digits, _ and -, begins with a letter and is at most 64 long", screen.Short(s))
	case k.kind == level && (len(s) > 200 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })):
		return "", wrongf("%q: a level is one line of at most 200 bytes", screen.Short(s))
	}
	return s, nil
}

// meant is what was perhaps meant by a text that is not among the choices.
func meant(k key, s string) string {
	if h := unitHint(s); k.name == "unit" && h != "" {
		return h
	}
	return spelling.Meant(s, k.choices)
}

// readNumber reads number and share.
func readNumber(k key, v *value) (any, *mismatch) {
	s, percent := v.text, false
	switch {
	case v.kind == unstable.Integer || v.kind == unstable.Float:
		s = strings.ReplaceAll(s, "_", "")
	case v.kind == unstable.String && k.kind == share:
		s, percent = strings.CutSuffix(strings.TrimSpace(s), "%")
	default:
		return nil, wrongf("expected %s, found %s", map[bool]string{true: `a share such as "3%"`, false: "a number"}[k.kind == share], describe(v))
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if n, e := strconv.ParseInt(s, 0, 64); e == nil {
		x, err = float64(n), nil // 0x10
	}
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, wrongf("%q is not a finite number", screen.Short(v.text))
	}
	if percent {
		x /= 100
	}
	if k.kind == share && (x < 0 || x > 1) {
		wrong := wrongf(`%q: expected a share of 0%% to 100%%, as "3%%" or 0.03`, screen.Short(v.text))
		if !percent && x > 1 && x <= 100 {
			wrong.hint = strconv.Quote(s + "%")
		}
		return nil, wrong
	}
	return x, outside(k, x, v.text)
}

func readDuration(k key, v *value) (any, *mismatch) {
	if v.kind != unstable.String {
		hint := ""
		if v.kind == unstable.Integer || v.kind == unstable.Float {
			hint = strconv.Quote(v.text + "s")
		}
		return nil, &mismatch{text: `expected a time with its unit in quotes, such as "20s", found ` + describe(v), hint: hint}
	}
	d, err := time.ParseDuration(strings.TrimSpace(v.text))
	if err != nil {
		return nil, wrongf(`%q is not a time with its unit, such as "500ms", "20s", "10m" or "6h"`, screen.Short(v.text))
	}
	if s := d.Seconds(); s < k.min || k.max > 0 && s > k.max {
		return nil, wrongf("%s is outside of %s to %s", screen.Short(v.text), screen.Brief(time.Duration(k.min*1e9)), screen.Brief(time.Duration(k.max)*time.Second))
	}
	return d, nil
}

// outside checks a range; both ends 0 is any.
func outside(k key, x float64, shown string) *mismatch {
	if (k.min != 0 || k.max != 0) && (x < k.min || x > k.max) {
		return wrongf("%s is outside of %s to %s", shown, strconv.FormatFloat(k.min, 'f', -1, 64), strconv.FormatFloat(k.max, 'f', -1, 64))
	}
	return nil
}

// each reads the elements of an array.
func each[T any](v *value, what string, one func(*value) (T, *mismatch)) (any, *mismatch) {
	if v.kind != unstable.Array || v.header {
		return nil, wrongf("expected a list of %s in brackets, found %s", what, describe(v))
	}
	if len(v.list) == 0 {
		return nil, wrongf("the list is empty")
	}
	if len(v.list) > maxList {
		return nil, wrongf("a list of %d; at most %d are read", len(v.list), maxList)
	}
	var out []placed[T]
	for _, e := range v.list {
		x, wrong := one(e)
		if wrong != nil {
			wrong.at = e.at
			return nil, wrong
		}
		out = append(out, placed[T]{x, e.at})
	}
	return out, nil
}

// readCommand reads an argument list. A text is not split: quoting is what shells
// get wrong.
func readCommand(v *value) (any, *mismatch) {
	if v.kind == unstable.String {
		return nil, &mismatch{text: "expected a program and its arguments in brackets, without a shell", hint: `["` + strings.Join(strings.Fields(screen.Short(v.text)), `", "`) + `"]`}
	}
	got, wrong := each(v, "arguments", func(e *value) (string, *mismatch) {
		switch e.kind {
		case unstable.String, unstable.Integer, unstable.Float, unstable.Bool:
			if strings.ContainsRune(e.text, 0) {
				return "", wrongf("an argument cannot hold a zero byte")
			}
			return e.text, nil
		}
		return "", wrongf("expected text in quotes, found %s", describe(e))
	})
	if wrong != nil {
		return nil, wrong
	}
	var out []string
	for _, w := range got.([]placed[string]) {
		out = append(out, w.v)
	}
	if strings.TrimSpace(out[0]) == "" {
		return nil, wrongf("names no program")
	}
	return out, nil
}

// named is a key of a table of texts.
type named struct {
	name, text string
	at, textAt place
}

func readPairs(v *value) (any, *mismatch) {
	if v.kind != unstable.InlineTable {
		return nil, wrongf(`expected a table such as {cache = "cold"}, found %s`, describe(v))
	}
	var out []named
	for _, e := range v.keys {
		s, wrong := readText(key{kind: level}, e.value)
		if wrong != nil {
			wrong.at = e.value.at
			return nil, wrong
		}
		out = append(out, named{e.name, s, e.at, e.value.at})
	}
	return out, nil
}

// describe names a value that is of the wrong form.
func describe(v *value) string {
	switch v.kind {
	case unstable.String:
		return fmt.Sprintf("the text %q", screen.Short(v.text))
	case unstable.Array:
		return "a list"
	case unstable.InlineTable:
		return "a table"
	case unstable.Integer, unstable.Float, unstable.Bool:
		return screen.Short(v.text)
	}
	return "the date or time " + screen.Short(v.text)
}

// goValue is a value as workload.Check takes it.
func goValue(v *value) (any, error) {
	switch v.kind {
	case unstable.String:
		return v.text, nil
	case unstable.Bool:
		return v.text == "true", nil
	case unstable.Integer:
		return strconv.ParseInt(v.text, 0, 64)
	case unstable.Float:
		return strconv.ParseFloat(strings.ReplaceAll(v.text, "_", ""), 64)
	case unstable.Array:
		list := make([]any, len(v.list))
		for i, e := range v.list {
			x, err := goValue(e)
			if err != nil {
				return nil, err
			}
			list[i] = x
		}
		return list, nil
	case unstable.InlineTable:
		m := map[string]any{}
		for _, e := range v.keys {
			x, err := goValue(e.value)
			if err != nil {
				return nil, err
			}
			m[e.name] = x
		}
		return m, nil
	}
	return nil, errors.New("a date or time: write it in quotes")
}
