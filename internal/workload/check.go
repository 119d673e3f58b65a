package workload

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hostlab/internal/screen"
)

// ParamError is a parameter that cannot be used. Its text is one line.
type ParamError struct {
	Name    string // of the parameter, as given
	Text    string // what is wrong
	Hint    string // what to do; may be empty
	Element int    // of a list that is wrong, from 1; 0: all of the value
	Passes  bool   // it may be right a moment later, as of a server that starts
}

// Wrong returns a *ParamError.
func Wrong(name, text, hint string) error { return &ParamError{Name: name, Text: text, Hint: hint} }

// Error implements error.
func (e *ParamError) Error() string {
	if e.Hint == "" {
		return fmt.Sprintf("parameter %s: %s", e.Name, e.Text)
	}
	return fmt.Sprintf("parameter %s: %s; %s", e.Name, e.Text, e.Hint)
}

// Param returns the parameter of that name.
func (d Description) Param(name string) (Param, bool) {
	i := slices.IndexFunc(d.Params, func(p Param) bool { return p.Name == name })
	if i < 0 {
		return Param{}, false
	}
	return d.Params[i], true
}

// Check turns given parameters into Values: of the right types, within their
// ranges, with defaults for those that are not given. Values are as Convert takes them. The
// error joins a *ParamError for each that cannot be used, in the order of their names.
func Check(d Description, given map[string]any) (Values, error) {
	out := Values{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		p, ok := d.Param(name)
		if !ok {
			errs = append(errs, unknownParam(d, name))
			continue
		}
		v, err := Convert(p, given[name])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out[name] = v
	}
	for _, p := range d.Params {
		if _, ok := given[p.Name]; ok {
			continue
		}
		if p.Required {
			errs = append(errs, &ParamError{Name: p.Name, Text: "missing", Hint: "workload " + d.Name + " needs it: " + p.Help})
			continue
		}
		out[p.Name] = p.Default
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

func unknownParam(d Description, name string) error {
	var known []string
	for _, p := range d.Params {
		known = append(known, p.Name)
	}
	hint := "it has " + strings.Join(known, ", ")
	if near := screen.Meant(name, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	return Wrong(name, "workload "+d.Name+" has none of that name", hint)
}

// ParseText reads a value as the command line and levels of factors have it, and
// checks its range. A list is words with spaces between, or a JSON array where a
// word is empty or holds a space; a table is name=value words, or a JSON object.
// Text that is not UTF-8 is refused, as no record could hold it: JSON is UTF-8 (RFC 8259).
// The error is a *ParamError.
func ParseText(p Param, text string) (any, error) {
	if !utf8.ValidString(text) {
		return nil, &ParamError{Name: p.Name, Text: fmt.Sprintf("%q is not UTF-8, and a record could not hold it",
			screen.Short(text))}
	}
	v, err := parse(p, text)
	if err == nil {
		err = within(p, v)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

func parse(p Param, text string) (any, error) {
	if p.Kind == Table {
		return parseTable(p, strings.TrimSpace(text))
	}
	f := forms[p.Kind]
	v, ok := f.parse(text)
	if !ok {
		return nil, Wrong(p.Name, fmt.Sprintf("%q is not %s", screen.Short(text), cmp.Or(f.typed, f.words)), "")
	}
	return v, nil
}

func parseTable(p Param, text string) (any, error) {
	out := map[string]string{}
	if strings.HasPrefix(text, "{") {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			return nil, Wrong(p.Name, fmt.Sprintf("%q is not a table", screen.Short(text)),
				`write NAME=value NAME=value, or {"NAME": "value"}`)
		}
		return out, nil
	}
	for _, w := range strings.Fields(text) {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, Wrong(p.Name, fmt.Sprintf("%q is not NAME=value", screen.Short(w)),
				`values with spaces need {"NAME": "value"}`)
		}
		out[name] = value
	}
	return out, nil
}

// byteUnits are those that sizes may have. Powers of 1000 are left out: half of
// all tools mean 1024 by kB, so that a reader could not tell.
var byteUnits = []struct {
	name string
	one  int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func parseBytes(s string) (int64, error) {
	one := int64(1)
	for _, u := range byteUnits {
		if len(s) > len(u.name) && strings.EqualFold(s[len(s)-len(u.name):], u.name) {
			s, one = strings.TrimSpace(s[:len(s)-len(u.name)]), u.one
			break
		}
	}
	if n, err := parseInt(s); err == nil && n <= math.MaxInt64/one && n >= math.MinInt64/one {
		return n * one, nil
	}
	f, err := parseFloat(s) // 1.5GiB
	if f *= float64(one); one == 1 || math.Abs(f) >= 1<<62 || f != math.Trunc(f) {
		return 0, strconv.ErrRange
	}
	return int64(f), err
}

// Text writes a value as ParseText reads it.
func Text(p Param, v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		if p.Kind == Share {
			// A product such as 0.07*100 would show digits of its rounding.
			percent := strconv.FormatFloat(100*v, 'g', 12, 64)
			if back, err := strconv.ParseFloat(percent, 64); err == nil && back/100 == v {
				return percent + "%"
			}
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []int64:
		return strings.Trim(fmt.Sprint(v), "[]")
	case time.Duration:
		return screen.Brief(v)
	case int64:
		if p.Kind != Bytes || v == 0 {
			break
		}
		for _, u := range byteUnits[:4] {
			if v%u.one == 0 {
				return strconv.FormatInt(v/u.one, 10) + u.name
			}
		}
	case []string:
		if slices.ContainsFunc(v, func(w string) bool { f := strings.Fields(w); return len(f) != 1 || f[0] != w }) ||
			len(v) > 0 && strings.HasPrefix(v[0], "[") {
			return asJSON(v)
		}
		return strings.Join(v, " ")
	case map[string]string:
		words := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			words = append(words, name+"="+v[name])
		}
		plain := strings.Join(words, " ")
		if back, err := parseTable(p, plain); err != nil || !maps.Equal(back.(map[string]string), v) {
			return asJSON(v)
		}
		return plain
	}
	return fmt.Sprint(v)
}

func asJSON(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v) // strings always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}
