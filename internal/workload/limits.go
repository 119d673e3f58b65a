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
	low, high := p.limits()
	if (low == 0 && high == 0) || low <= number && number <= high {
		return nil
	}
	hint := ""
	if p.Kind == "share" && number > 1 && number <= 100 {
		hint = fmt.Sprintf("write \"%v%%\"", number)
	}
	return Wrong(p.Name, fmt.Sprintf("%s is outside of %s", text, p.Range()), hint)
}

// limits returns the range; that of a share is at most 0 to 1.
func (p Param) limits() (low, high float64) {
	if p.Kind == "share" && p.Max == 0 {
		return p.Min, 1
	}
	return p.Min, p.Max
}

// formed checks a text, or an element of a list.
func (p Param) formed(text string) error {
	switch {
	case len(p.Choices) > 0 && !slices.Contains(p.Choices, text):
		hint := ""
		if near := screen.Meant(text, p.Choices); near != "" {
			hint = "did you mean " + near + "?"
		}
		return Wrong(p.Name, fmt.Sprintf("%q: expected %s", screen.Short(text), strings.Join(quotedEmpty(p.Choices), ", ")), hint)
	case p.Form != nil && !p.Form.MatchString(text):
		return Wrong(p.Name, fmt.Sprintf("%q: %s", screen.Short(text), p.Wants), "")
	}
	return nil
}

// quotedEmpty shows the choice that is no text.
func quotedEmpty(choices []string) []string {
	list := slices.Clone(choices)
	if i := slices.Index(list, ""); i >= 0 {
		list[i] = `""`
	}
	return list
}

// Range writes the range of a parameter for people, as in "1 to 64" or "1ms to
// 1h", or "" where it has none.
func (p Param) Range() string {
	low, high := p.limits()
	if low == 0 && high == 0 {
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
	return limit(low) + " to " + limit(high)
}
