package check

import (
	"fmt"
	keysof "maps"
	"os"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/setting"
	"hostlab/internal/testkit"

	"github.com/pelletier/go-toml/v2"
)

// source is a tool, or a profile of one, with what it judges or sets.
type source struct {
	Name, File, Version string
	Least               float64           // the share of what counts that must be judged
	Parameters          map[string]string // by name, with the value that it advises
	Left                map[string]string // why a parameter does not count
	Missing             map[string]string // why one that counts is not judged
}

func sources(t *testing.T) []source {
	t.Helper()
	b := testkit.Must(os.ReadFile("testdata/sources.toml"))(t)
	var file struct{ Source []source }
	testkit.OK(t, toml.NewDecoder(strings.NewReader(string(b))).DisallowUnknownFields().Decode(&file))
	return file.Source
}

// judges are the checks that take a parameter in.
func judges(parameter string) (ids []string) {
	for _, c := range All() {
		if slices.Contains(c.Covers, parameter) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// setsOf are the settings of a parameter: by its sysctl, or what a tool calls it.
func setsOf(parameter string) (names []string) {
	for _, s := range setting.All() {
		called := slices.ContainsFunc(s.Words, func(w setting.Word) bool { return w.Option == parameter })
		if called || s.Sysctl == parameter {
			names = append(names, s.Name)
		}
	}
	return names
}

// count is how many parameters of a source count, and how many of those are judged.
func (s source) count() (judged, counted int) {
	for name := range s.Parameters {
		if s.Left[name] != "" {
			continue
		}
		if counted++; judges(name) != nil {
			judged++
		}
	}
	return judged, counted
}

// TestCoverage holds how much of each source is judged, and that nothing is left out in silence.
func TestCoverage(t *testing.T) {
	named := map[string]bool{}
	for _, s := range sources(t) {
		if s.Name == "" || s.File == "" || s.Version == "" || len(s.Parameters) == 0 {
			t.Errorf("%q lacks a file, a version or parameters", s.Name)
		}
		judged, counted := s.count()
		if float64(judged) < s.Least*float64(counted) {
			t.Errorf("%s: %d of %d parameters are judged, expected a share of %g", s.Name, judged, counted, s.Least)
		}
		for name := range s.Parameters {
			named[name] = true
			switch left, missing, known := s.Left[name] != "", s.Missing[name] != "", judges(name) != nil; {
			case left && missing:
				t.Errorf("%s: %s is both left and missing", s.Name, name)
			case known && missing:
				t.Errorf("%s: %s is judged, and yet missing", s.Name, name)
			case !known && !left && !missing:
				t.Errorf("%s: no check covers %s; add it to a check's Covers, or say in missing why not", s.Name, name)
			}
		}
		for _, name := range slices.Concat(slices.Collect(keysof.Keys(s.Left)), slices.Collect(keysof.Keys(s.Missing))) {
			if s.Parameters[name] == "" {
				t.Errorf("%s: %s is no parameter of it", s.Name, name)
			}
		}
	}
	for _, c := range All() {
		for _, name := range c.Covers {
			if !named[name] {
				t.Errorf("%s covers %s, which no source has", c.ID, name)
			}
		}
	}
}

// coverage is the part of docs/checks.md on other tools.
func coverage(all []source) string {
	var b strings.Builder
	b.WriteString("\n## What other tools judge or set\n\nCounted from " +
		"[sources.toml](../internal/check/testdata/sources.toml), which holds the tools' parameters, and from what each " +
		"check declares\nto cover. A parameter counts if kernels from 6.1 on have it and the tool still advises it. Each " +
		"is judged where its check applies: for\nthe servers that it speaks for.\n\n")
	values, order := map[string][]string{}, []string{}
	for _, s := range all {
		judged, counted := s.count()
		fmt.Fprintf(&b, "- **%s**: %d of %d judged; %s, %s\n", s.Name, judged, counted, s.Version, s.File)
		for _, name := range slices.Sorted(keysof.Keys(s.Parameters)) {
			if values[name] == nil {
				order = append(order, name)
			}
			values[name] = append(values[name], s.Name+" ("+s.Parameters[name]+")")
		}
	}
	b.WriteString("\nThe parameters that are judged, who has them and with which value:\n\n")
	for _, name := range order {
		if ids := judges(name); ids != nil {
			fmt.Fprintf(&b, "- %s: %s. Judged by %s", strings.TrimPrefix(name, "perfspect/"), strings.Join(values[name], "; "),
				strings.Join(ids, ", "))
			if sets := setsOf(name); len(sets) > 0 {
				b.WriteString("; set by " + strings.Join(sets, ", "))
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n### Left out\n\n")
	for _, s := range all {
		for _, name := range slices.Sorted(keysof.Keys(s.Parameters)) {
			if why := s.Left[name]; why != "" {
				fmt.Fprintf(&b, "- %s (%s), not counted: %s\n", strings.TrimPrefix(name, "perfspect/"), s.Name, why)
			} else if why := s.Missing[name]; why != "" {
				fmt.Fprintf(&b, "- %s (%s), counted: %s\n", strings.TrimPrefix(name, "perfspect/"), s.Name, why)
			}
		}
	}
	return b.String()
}
