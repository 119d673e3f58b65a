package lever

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"hostlab/internal/result"
)

// Figure prints an estimate with its interval and n: "1.42x [1.31x, 1.55x], n 24".
// An unknown one gives its reason.
func Figure(m *result.Measurement) string {
	if m == nil {
		return "not measured"
	}
	e := m.Estimate
	if e == nil {
		return "unknown: " + m.Reason
	}
	if !e.HasInterval() {
		return fmt.Sprintf("%s, no interval, n %d", result.Format(e.Value, m.Unit), e.N)
	}
	return fmt.Sprintf("%s [%s, %s], n %d", result.Format(e.Value, m.Unit),
		result.Format(e.Low, m.Unit), result.Format(e.High, m.Unit), e.N)
}

// Percent prints a share, never as 100 % or 0 % while it is neither.
func Percent(share float64) string {
	switch p := 100 * share; {
	case p > 99 && p < 100:
		return ">99 %"
	case p > 0 && p < 1:
		return "<1 %"
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// lowerFirst puts a title into the middle of a sentence, leaving names such as
// "EPP" and "C-states" as they are.
func lowerFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	second, _ := utf8.DecodeRuneInString(s[size:])
	if !unicode.IsLower(second) {
		return s
	}
	return string(unicode.ToLower(first)) + s[size:]
}

func upperFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

func sentence(s string) string {
	s = strings.TrimRight(upperFirst(s), ". ")
	return s + "."
}
