package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
)

// A word is taken in any letters, a slip is named, and what is far from all is not.
func TestWords(t *testing.T) {
	for _, c := range []struct{ flag, typed, want, problem string }{
		{"role", "production-db", "production-db", ""},
		{"role", " Development ", "development", ""},
		{"role", "production-bd", "", `--role "production-bd": expected production-db, production-app, development; did you mean production-db?`},
		{"role", "prodution-app", "", "did you mean production-app?"},
		{"role", "xyz", "", `--role "xyz": expected production-db, production-app, development`},
		{"fail-on", "HIGH", "high", ""},
		{"fail-on", "info", "info", ""},
		{"fail-on", "hihg", "", `--fail-on "hihg": expected info, low, medium, high; did you mean high?`},
	} {
		var role check.Role
		var failOn string
		cmd := &cobra.Command{}
		choiceFlag(cmd, &role, "role", "", "", check.Roles)
		choiceFlag(cmd, &failOn, "fail-on", "", "", check.Severities)
		err := cmd.ParseFlags([]string{"--" + c.flag + "=" + c.typed})
		got := string(role) + failOn
		switch {
		case c.problem == "" && (err != nil || got != c.want):
			t.Errorf("%q: %q, %v", c.typed, got, err)
		case c.problem != "" && (err == nil || strings.Contains(err.Error(), "did you mean") != strings.Contains(c.problem, "did you mean") || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%q: error %v, want %s", c.typed, err, c.problem)
		}
	}
}
