package workload

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/screen"
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
	if n, ok := v.(int); ok {
		v = int64(n)
	}
	f, hint := forms[p.Kind], ""
	if f.is != nil && f.is(v) {
		return v, nil
	}
	switch x := v.(type) {
	case string:
		switch p.Kind {
		case Share, Duration, Bytes:
			return parse(p, x)
		case List:
			hint = fmt.Sprintf("write each word by itself: %s; there is no shell to split them", asJSON(strings.Fields(x)))
		}
	case int64, float64, bool:
		whole, isWhole := x.(int64)
		switch {
		case isWhole && (p.Kind == Float || p.Kind == Share):
			return float64(whole), nil
		case p.Kind == String && p.Numbers:
			return scalar(x), nil
		case p.Kind == String:
			hint = fmt.Sprintf("put it in quotes: %q", scalar(x))
		case p.Kind == Duration:
			hint = fmt.Sprintf("give its unit, as in \"%vs\" or \"%vms\"", x, x)
		}
	case []any:
		switch p.Kind {
		case Ints:
			list := make([]int64, len(x))
			for i, e := range x {
				var ok bool
				if list[i], ok = e.(int64); !ok {
					return nil, &ParamError{Name: p.Name, Text: "expected a whole number, found " + describe(e), Element: i + 1}
				}
			}
			return list, nil
		case List:
			list := make([]string, len(x))
			for i, e := range x {
				if list[i] = scalar(e); list[i] == "" && e != "" {
					return nil, &ParamError{Name: p.Name, Text: fmt.Sprintf("word %d of the list is %s", i+1, describe(e)),
						Hint: "write words in quotes", Element: i + 1}
				}
			}
			return list, nil
		}
	case map[string]any:
		if p.Kind != Table {
			break
		}
		table := map[string]string{}
		for name, e := range x {
			if table[name] = scalar(e); table[name] == "" && e != "" {
				return nil, Wrong(p.Name+"."+name, "expected text, found "+describe(e), "")
			}
		}
		return table, nil
	}
	return nil, Wrong(p.Name, fmt.Sprintf("expected %s, found %s", f.words, describe(v)), hint)
}

// form is what is known of a kind.
type form struct {
	is    func(v any) bool              // it has the kind's Go type
	parse func(text string) (any, bool) // as the command line and levels have it
	words string                        // what is expected in a file
	typed string                        // and of a text, where that is something else
}

func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

// of adapts a parser of trimmed texts.
func of[T any](parse func(string) (T, error)) func(string) (any, bool) {
	return func(text string) (any, bool) {
		v, err := parse(strings.TrimSpace(text))
		return v, err == nil
	}
}

func parseInt(s string) (int64, error)     { return strconv.ParseInt(s, 10, 64) }
func parseFloat(s string) (float64, error) { return strconv.ParseFloat(s, 64) } // within refuses what is not finite

// forms are those of the kinds; of tables there is parseTable.
var forms = map[Kind]form{
	String: {is[string], func(s string) (any, bool) { return s, true }, "text", ""},
	Int:    {is[int64], of(parseInt), "a whole number", ""},
	Ints:   {is[[]int64], of(parseInts), "a list of whole numbers", "whole numbers with spaces between"},
	Float:  {is[float64], of(parseFloat), "a number", ""},
	Share:  {is[float64], of(parseShare), `a share, such as "3%" or 0.03`, ""},
	Bool:   {is[bool], of(parseBool), "true or false", ""},
	Duration: {is[time.Duration], of(time.ParseDuration), `a time in quotes, such as "150ms"`,
		"a time with its unit, such as 150ms, 2s or 1m30s"},
	Bytes: {is[int64], of(parseBytes), `a size, such as "64MiB" or 4096`, "a size, such as 64MiB, 4KiB or 4096"},
	List:  {is[[]string], of(parseList), "a list of words", `a list, such as ["gzip", "-1"]`},
	Table: {is: is[map[string]string], words: "a table"},
}

func parseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	f, err := parseFloat(strings.TrimSpace(number))
	if percent {
		f /= 100
	}
	return f, err
}

func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "yes", "on":
		return true, nil
	case "no", "off":
		return false, nil
	}
	return strconv.ParseBool(strings.ToLower(s))
}

func parseInts(s string) ([]int64, error) {
	list := []int64{}
	for _, word := range strings.Fields(s) {
		n, err := parseInt(word)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

func parseList(s string) (list []string, err error) {
	if strings.HasPrefix(s, "[") {
		return list, json.Unmarshal([]byte(s), &list)
	}
	return strings.Fields(s), nil
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
		e := &ParamError{Name: p.Name, Text: fmt.Sprintf("%q: expected %s", screen.Short(text), strings.Join(list, ", ")),
			Element: element}
		if near := screen.Meant(text, p.Choices); near != "" {
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
