package workload

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/spelling"
)

// Convert brings a value to the Go type of its kind, and checks its range, choices and form.
// It may have that type, or what a TOML file holds: string, int64, float64, bool, []any or
// map[string]any. The error is a *ParamError.
func Convert(p Param, v any) (any, error) {
	v, err := convert(p, v)
	if err == nil {
		err = within(p, v)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

func convert(p Param, v any) (any, error) {
	wrong := func(hint string) error {
		return &ParamError{Name: p.Name, Text: fmt.Sprintf("expected %s, found %s", kindNames[p.Kind], describe(v)), Hint: hint}
	}
	if n, ok := v.(int); ok {
		v = int64(n)
	}
	switch p.Kind {
	case String:
		switch v := v.(type) {
		case string:
			return v, nil
		case int64, float64, bool:
			if p.Numbers {
				return scalar(v), nil
			}
			return nil, wrong(fmt.Sprintf("put it in quotes: %q", scalar(v)))
		}
	case Int:
		if n, ok := v.(int64); ok {
			return n, nil
		}
	case Ints:
		switch l := v.(type) {
		case []int64:
			return l, nil
		case []any:
			list := make([]int64, len(l))
			for i, e := range l {
				n, ok := e.(int64)
				if !ok {
					return nil, &ParamError{Name: p.Name, Text: "expected a whole number, found " + describe(e), Element: i + 1}
				}
				list[i] = n
			}
			return list, nil
		}
	case Float, Share:
		switch n := v.(type) {
		case float64:
			return n, nil
		case int64:
			return float64(n), nil
		case string:
			if p.Kind == Share {
				return parse(p, n)
			}
		}
	case Bool:
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case Duration:
		switch d := v.(type) {
		case time.Duration:
			return d, nil
		case string:
			return parse(p, d)
		case int64, float64:
			return nil, wrong(fmt.Sprintf("give its unit, as in \"%vs\" or \"%vms\"", d, d))
		}
	case Bytes:
		switch n := v.(type) {
		case int64:
			return n, nil
		case string:
			return parse(p, n)
		}
	case List:
		switch l := v.(type) {
		case []string:
			return slices.Clone(l), nil
		case []any:
			list := make([]string, len(l))
			for i, e := range l {
				if list[i] = scalar(e); list[i] == "" && e != "" {
					return nil, &ParamError{Name: p.Name, Text: fmt.Sprintf("word %d of the list is %s", i+1, describe(e)), Hint: "write words in quotes", Element: i + 1}
				}
			}
			return list, nil
		case string:
			return nil, wrong(fmt.Sprintf("write each word by itself: %s; there is no shell to split them", asJSON(strings.Fields(l))))
		}
	case Table:
		switch m := v.(type) {
		case map[string]string:
			return m, nil
		case map[string]any:
			table := map[string]string{}
			for name, e := range m {
				if table[name] = scalar(e); table[name] == "" && e != "" {
					return nil, &ParamError{Name: p.Name + "." + name, Text: "expected text, found " + describe(e)}
				}
			}
			return table, nil
		}
	}
	return nil, wrong("")
}

var kindNames = map[Kind]string{
	String: "text", Int: "a whole number", Ints: "a list of whole numbers", Float: "a number", Share: `a share, such as "3%" or 0.03`, Bool: "true or false", Duration: `a time in quotes, such as "150ms"`,
	Bytes: `a size, such as "64MiB" or 4096`, List: "a list of words", Table: "a table",
}

// scalar is a single value as text, or "".
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// describe names a value that is of the wrong type.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("the text %q", screen.Short(v))
	case int64, float64, bool:
		return scalar(v)
	case []any, []string:
		return "a list"
	case map[string]any, map[string]string:
		return "a table"
	}
	return screen.Short(fmt.Sprint(v))
}

// within checks a value of the right type against range, choices and form.
func within(p Param, v any) error {
	switch v := v.(type) {
	case int64:
		return inRange(p, float64(v), v)
	case time.Duration:
		return inRange(p, v.Seconds(), v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return &ParamError{Name: p.Name, Text: fmt.Sprintf("%v is not a finite number", v)}
		}
		return inRange(p, v, v)
	case string:
		return formed(p, v, 0)
	case []int64:
		for i, n := range v {
			if inRange(p, float64(n), n) != nil {
				return &ParamError{Name: p.Name, Text: fmt.Sprintf("%d is outside of %s", n, Range(p)), Element: i + 1}
			}
		}
	case []string:
		for i, word := range v {
			if err := formed(p, word, i+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func inRange(p Param, number float64, v any) error {
	low, high := p.limits()
	if (low == 0 && high == 0) || low <= number && number <= high {
		return nil
	}
	e := &ParamError{Name: p.Name, Text: fmt.Sprintf("%s is outside of %s", Text(p, v), Range(p))}
	if p.Kind == Share && number > 1 && number <= 100 {
		e.Hint = fmt.Sprintf("write \"%v%%\"", number)
	}
	return e
}

// limits returns the range; that of a share is at most 0 to 1.
func (p Param) limits() (low, high float64) {
	if p.Kind == Share && p.Max == 0 {
		return p.Min, 1
	}
	return p.Min, p.Max
}

// formed checks a text, or an element of a list.
func formed(p Param, text string, element int) error {
	switch {
	case len(p.Choices) > 0 && !slices.Contains(p.Choices, text):
		list := slices.Clone(p.Choices)
		if i := slices.Index(list, ""); i >= 0 {
			list[i] = `""`
		}
		e := &ParamError{Name: p.Name, Text: fmt.Sprintf("%q: expected %s", screen.Short(text), strings.Join(list, ", ")), Element: element}
		if near := spelling.Meant(text, p.Choices); near != "" {
			e.Hint = "did you mean " + near + "?"
		}
		return e
	case p.Form != nil && !p.Form.MatchString(text):
		return &ParamError{Name: p.Name, Text: fmt.Sprintf("%q: %s", screen.Short(text), p.Wants), Element: element}
	}
	return nil
}

// Range writes the range of a parameter for people, as in "1 to 64" or "1ms to
// 1h", or "" where it has none.
func Range(p Param) string {
	low, high := p.limits()
	if low == 0 && high == 0 {
		return ""
	}
	limit := func(x float64) string { return result.Format(x, p.Unit) }
	switch p.Kind {
	case Share:
		limit = func(x float64) string { return Text(p, x) }
	case Duration: // as one is written
		limit = func(x float64) string { return screen.Brief(time.Duration(math.Round(x * 1e9))) }
	case Bytes:
		limit = func(x float64) string { return result.Format(x, "B") }
	}
	return limit(low) + " to " + limit(high)
}
