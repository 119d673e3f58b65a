package workload

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Within checks a field against range, choices and form. The error is a *ParamError.
func (p Param) Within(v reflect.Value) error {
	switch x := v.Interface().(type) {
	case Span:
		return p.inRange(x.Seconds(), x.String())
	case Share:
		return p.inRange(float64(x), x.String())
	case Bytes:
		return p.inRange(float64(x), x.String())
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		return p.inRange(float64(v.Int()), textOf(v))
	case reflect.Float64:
		return p.inRange(v.Float(), textOf(v))
	case reflect.String:
		return p.formed(v.String())
	case reflect.Slice:
		for i := range v.Len() {
			if err := p.Within(v.Index(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p Param) inRange(number float64, text string) error {
	if math.IsNaN(number) || math.IsInf(number, 0) {
		return Wrong(p.Name, text+" is not a finite number", "")
	}
	if (p.Min == 0 && p.Max == 0) || p.Min <= number && number <= p.Max {
		return nil
	}
	hint := ""
	if p.Kind == "share" && number > 1 && number <= 100 {
		hint = fmt.Sprintf("write \"%v%%\"", number)
	}
	return Wrong(p.Name, fmt.Sprintf("%s is outside of %s", text, p.Range()), hint)
}

// formed checks a text, or an element of a list.
func (p Param) formed(text string) error {
	switch {
	case len(p.Choices) > 0 && !slices.Contains(p.Choices, text):
		list := strings.Join(p.Choices, ", ")
		if strings.HasSuffix(list, ", ") {
			list += `""` // the last one is no text
		}
		return Wrong(p.Name, fmt.Sprintf("%q: expected %s", screen.Short(text), list), meant(text, p.Choices))
	case p.Form != nil && !p.Form.MatchString(text):
		return Wrong(p.Name, fmt.Sprintf("%q: %s", screen.Short(text), p.Wants), "")
	}
	return nil
}

// Range writes the range of a parameter for people, as in "1 to 64" or "1ms to
// 1h", or "" where it has none.
func (p Param) Range() string {
	if p.Min == 0 && p.Max == 0 {
		return ""
	}
	limit := func(x float64) string { return result.Format(x, p.Unit) }
	switch p.Kind {
	case "share":
		limit = func(x float64) string { return Share(x).String() }
	case "duration": // as one is written
		limit = func(x float64) string { return Seconds(x).String() }
	case "bytes":
		limit = func(x float64) string { return result.Format(x, "B") }
	}
	return limit(p.Min) + " to " + limit(p.Max)
}
