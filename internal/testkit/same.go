package testkit

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Same reports how what is there differs from what is wanted. What it is about goes before that.
func Same(t testing.TB, want, got any, about ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s(-want +got):\n%s", said(about), diff)
	}
}

// Is reports a value that is not the one that is wanted. What it is about goes before that.
func Is[T comparable](t testing.TB, want, got T, about ...any) {
	t.Helper()
	if got == want {
		return
	}
	if text := fmt.Sprint(want, got); strings.Contains(text, "\n") {
		Same(t, want, got, about...)
		return
	}
	t.Errorf("%s%#v, want %#v", said(about), got, want)
}

// Has reports that a text has no such part. A page's space between a number and its unit, where no line breaks, is one.
func Has(t testing.TB, text, part string, about ...any) {
	t.Helper()
	if !strings.Contains(strings.ReplaceAll(text, "\u00a0", " "), part) {
		t.Errorf("%sno %q in:\n%s", said(about), part, text)
	}
}

// Fits reports lines of a text that are wider than so many columns, or hold control characters. Those of whole, which
// may be nil, stay in one piece, as commands do.
func Fits(t testing.TB, text string, columns int, whole func(line string) bool, about ...any) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if n := utf8.RuneCountInString(line); n > columns && (whole == nil || !whole(line)) {
			t.Errorf("%s%d columns of %d: %s", said(about), n, columns, line)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' }) {
			t.Errorf("%scontrol character in %q", said(about), line)
		}
	}
}

func said(about []any) string {
	if len(about) == 0 {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintln(about...)) + ": "
}

// Fails reports an error that is not there, or does not say what is wanted ("": anything).
func Fails(t testing.TB, err error, part string, about ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("%sgave %v, want an error with %q", said(about), err, part)
	}
}

// Refused is Fails for a call that has a value too: testkit.Refused(Parse(text))(t, "no such unit").
func Refused[T any](_ T, err error) func(t testing.TB, part string, about ...any) {
	return func(t testing.TB, part string, about ...any) {
		t.Helper()
		Fails(t, err, part, about...)
	}
}
