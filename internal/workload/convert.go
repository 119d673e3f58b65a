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

// convert brings a value, as a TOML file holds it, to the Go type of its kind.
func convert(p Param, v any) (any, error) {
	wrong := func(hint string) error {
		return &ParamError{p.Name, fmt.Sprintf("expected %s, found %s", kindNames[p.Kind], describe(v)), hint}
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
			if _, whole := v.(int64); whole && p.Numbers {
				return scalar(v), nil
			}
			return nil, wrong(fmt.Sprintf("put it in quotes: %q", scalar(v)))
		}
	case Int:
		if n, ok := v.(int64); ok {
			return n, nil
		}
	case Float:
		switch n := v.(type) {
		case float64:
			return n, nil
		case int64:
			return float64(n), nil
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
					return nil, &ParamError{p.Name, fmt.Sprintf("word %d of the list is %s", i+1, describe(e)), "write words in quotes"}
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
					return nil, &ParamError{p.Name + "." + name, "expected text, found " + describe(e), ""}
				}
			}
			return table, nil
		}
	}
	return nil, wrong("")
}

var kindNames = map[Kind]string{
	String: "text", Int: "a whole number", Float: "a number", Bool: "true or false", Duration: `a time in quotes, such as "150ms"`,
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

// within checks a value of the right type against range and choices.
func within(p Param, v any) error {
	number := math.NaN()
	switch v := v.(type) {
	case int64:
		number = float64(v)
	case time.Duration:
		number = v.Seconds()
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return &ParamError{p.Name, fmt.Sprintf("%v is not a finite number", v), ""}
		}
		number = v
	case string:
		if len(p.Choices) > 0 && !slices.Contains(p.Choices, v) {
			e := &ParamError{p.Name, fmt.Sprintf("%q: expected %s", screen.Short(v), strings.Join(p.Choices, ", ")), ""}
			if near := spelling.Meant(v, p.Choices); near != "" {
				e.Hint = "did you mean " + near + "?"
			}
			return e
		}
	}
	if (p.Min != 0 || p.Max != 0) && (number < p.Min || number > p.Max) {
		return &ParamError{p.Name, fmt.Sprintf("%s is outside of %s", Text(p, v), Range(p)), ""}
	}
	return nil
}

// Range writes the range of a parameter for people, as in "1 to 64" or "1ms to
// 1h", or "" where it has none.
func Range(p Param) string {
	if p.Min == 0 && p.Max == 0 {
		return ""
	}
	limit := func(x float64) string { return result.Format(x, p.Unit) }
	switch p.Kind {
	case Duration: // as one is written
		limit = func(x float64) string { return screen.Brief(time.Duration(math.Round(x * 1e9))) }
	case Bytes:
		limit = func(x float64) string { return result.Format(x, "B") }
	}
	return limit(p.Min) + " to " + limit(p.Max)
}
