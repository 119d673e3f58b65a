package workload

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// The types of fields that Go and TOML have none for.
type (
	// Span is a time with its unit: "150ms".
	Span struct{ time.Duration }
	// Bytes is a size: "64MiB", "4KiB", or a plain number.
	Bytes int64
	// Share is "3%" or 0.03.
	Share float64
	// Word is a text that a file may also have as a number, or as true or false.
	Word string
)

// Seconds is a Span.
func Seconds(s float64) Span { return Span{time.Duration(math.Round(s * 1e9))} }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Span) UnmarshalText(b []byte) (err error) {
	s.Duration, err = time.ParseDuration(strings.TrimSpace(string(b)))
	return err
}

// String implements fmt.Stringer.
func (s Span) String() string { return screen.Brief(s.Duration) }

// byteUnits are those that sizes may have. Powers of 1000 are left out: half of
// all tools mean 1024 by kB, so that a reader could not tell.
var byteUnits = []struct {
	name string
	one  int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bytes) UnmarshalText(text []byte) error {
	s, one := strings.TrimSpace(string(text)), int64(1)
	for _, u := range byteUnits {
		if len(s) > len(u.name) && strings.EqualFold(s[len(s)-len(u.name):], u.name) {
			s, one = strings.TrimSpace(s[:len(s)-len(u.name)]), u.one
			break
		}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n <= math.MaxInt64/one && n >= math.MinInt64/one {
		*b = Bytes(n * one)
		return nil
	}
	f, err := strconv.ParseFloat(s, 64) // 1.5GiB
	if f *= float64(one); one == 1 || math.Abs(f) >= 1<<62 || f != math.Trunc(f) {
		return strconv.ErrRange
	}
	*b = Bytes(f)
	return err
}

// String implements fmt.Stringer.
func (b Bytes) String() string {
	for _, u := range byteUnits[:4] {
		if b != 0 && int64(b)%u.one == 0 {
			return strconv.FormatInt(int64(b)/u.one, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Share) UnmarshalText(b []byte) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(string(b)), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		f /= 100
	}
	*s = Share(f)
	return err
}

// String implements fmt.Stringer.
func (s Share) String() string {
	// A product such as 0.07*100 would show digits of its rounding.
	percent := strconv.FormatFloat(100*float64(s), 'g', 12, 64)
	if back, err := strconv.ParseFloat(percent, 64); err == nil && back/100 == float64(s) {
		return percent + "%"
	}
	return strconv.FormatFloat(float64(s), 'g', -1, 64)
}

// UnmarshalText implements encoding.TextUnmarshaler. go-toml gives it what is no text in quotes.
func (w *Word) UnmarshalText(b []byte) error {
	*w = Word(b)
	return nil
}

func Strings(words []Word) (list []string) {
	for _, w := range words {
		list = append(list, string(w))
	}
	return list
}

// kind is how people call a type, and what is expected of it in a file and of a typed text.
type kind struct{ name, file, typed string }

func kindOf(t reflect.Type) kind {
	switch t {
	case reflect.TypeFor[Span]():
		return kind{"duration", `a time in quotes, such as "150ms"`, "a time with its unit, such as 150ms, 2s or 1m30s"}
	case reflect.TypeFor[Bytes]():
		return kind{"bytes", `a size, such as "64MiB" or 4096`, "a size, such as 64MiB, 4KiB or 4096"}
	case reflect.TypeFor[Share]():
		return kind{"share", `a share, such as "3%" or 0.03`, `a share, such as 3% or 0.03`}
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return kind{"int", "a whole number", "a whole number"}
	case reflect.Float64:
		return kind{"float", "a number", "a number"}
	case reflect.Bool:
		return kind{"bool", "true or false", "true or false"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Int {
			return kind{"list", "a list of whole numbers", ""}
		}
		return kind{"list", "a list of words", `a list, such as ["gzip", "-1"]`}
	case reflect.Map:
		return kind{"table", "a table of texts", "NAME=value"}
	}
	return kind{"string", "text", "text"}
}

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

// Restarted is the error of a run that watched a service which has ended or was restarted meanwhile.
type Restarted struct{ Err error }

func (r *Restarted) Error() string { return r.Err.Error() }
func (r *Restarted) Unwrap() error { return r.Err }
