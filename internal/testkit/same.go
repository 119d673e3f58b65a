package testkit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Same reports how what is there differs from what is wanted. What it is about goes before that.
func Same(t testing.TB, want, got any, about ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s(-want +got):\n%s", said(about), diff)
	}
}

// Has reports that a text has no such part.
func Has(t testing.TB, text, part string, about ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%sno %q in:\n%s", said(about), part, text)
	}
}

func said(about []any) string {
	if len(about) == 0 {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintln(about...)) + ": "
}
