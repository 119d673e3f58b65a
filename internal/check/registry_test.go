package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

func TestRegistry(t *testing.T) {
	form := regexp.MustCompile(`^(PWR|IDL|SMT|MEM|KRN|NET|STO|VRT|SRV)-\d{3}$`)
	last := ""
	subjects := map[string]bool{}
	for _, c := range All() {
		subject, _, _ := strings.Cut(c.ID, "-")
		switch lastSubject, _, _ := strings.Cut(last, "-"); {
		case !form.MatchString(c.ID):
			t.Errorf("%s: not an ID", c.ID)
		case subject == lastSubject && c.ID <= last:
			t.Errorf("%s stands after %s", c.ID, last)
		case subject != lastSubject && subjects[subject]:
			t.Errorf("%s: its subject stands in two places", c.ID)
		}
		last, subjects[subject] = c.ID, true
		for name, s := range map[string]string{"Title": c.Title, "Why": c.Why, "Source": c.Source} {
			if strings.TrimSpace(s) == "" || strings.ContainsAny(s, "\n\t") || strings.Contains(s, "  ") {
				t.Errorf("%s: %s is empty or holds line breaks or double spaces: %q", c.ID, name, s)
			}
		}
		if len(c.Severity) == 0 || c.look == nil && c.goals == nil {
			t.Errorf("%s: no role or nothing to look with", c.ID)
		}
		if len(c.Title) > 51 {
			t.Errorf("%s: the title is %d characters long; 51 fit on a line of the list", c.ID, len(c.Title))
		}
		for r, s := range c.Severity {
			if !slices.Contains(Roles, r) || s < Info || s > High {
				t.Errorf("%s: severity %d for role %q", c.ID, s, r)
			}
		}
	}
}

// TestRolesAreCovered holds that each role has checks, and that what costs
// energy is not asked of development systems.
func TestRolesAreCovered(t *testing.T) {
	n := map[Role]int{}
	for _, c := range All() {
		for r := range c.Severity {
			n[r]++
		}
		if _, dev := c.Severity[Development]; dev && (c.Subject == Frequency || c.Subject == Idle) {
			t.Errorf("%s asks a development system to spend energy", c.ID)
		}
	}
	for _, r := range Roles {
		if n[r] == 0 {
			t.Errorf("no check for %s", r)
		}
	}
}

func TestAllIsACopy(t *testing.T) {
	a := All()
	a[0].ID = "spoilt"
	if All()[0].ID == "spoilt" {
		t.Error("callers can change the registry")
	}
}

// TestDocs holds docs/checks.md to what the program does.
func TestDocs(t *testing.T) { testkit.Page(t, "../../docs/checks.md", docs()+coverage(sources(t))) }

func docs() string {
	var b strings.Builder
	b.WriteString("# Checks\n\nWhat `hostlab check` looks at, how much a finding weighs in each role, and its sources. " +
		"A role that is not named is not judged.\n`hostlab check --explain ID` prints one of them with its reasons.\n\n")
	for _, c := range All() {
		var weights []string
		for _, r := range Roles {
			if s, ok := c.Severity[r]; ok {
				weights = append(weights, s.String()+" for "+string(r))
			}
		}
		fmt.Fprintf(&b, "- **%s** %s: %s. Sources: %s.", c.ID, c.Title, strings.Join(weights, ", "), c.Source)
		if c.Disagree != "" {
			fmt.Fprintf(&b, " %s", strings.TrimRight(c.Disagree, ".")+".")
		}
		b.WriteString("\n")
	}
	return b.String()
}
