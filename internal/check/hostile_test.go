//go:build system

package check

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/screen"
	"hostlab/internal/testkit"
)

// TestHostileNamesStayData puts names that a shell would act on into each text of each
// machine of the cases, one at a time, and has a shell read the remedies.
func TestHostileNamesStayData(t *testing.T) {
	tried := map[string]bool{}
	checks := map[string]bool{}
	for _, c := range allCases() {
		f := c.facts0()
		all := texts(reflect.ValueOf(f).Elem())
		if len(all) > 600 { // the CPUs of large machines repeat themselves
			all = slices.Concat(all[:300], all[len(all)-300:])
		}
		for _, s := range all {
			was := s.String()
			for n, with := range []func(string) string{func(s string) string { return s },
				func(s string) string { return was + s }, func(s string) string { return "/" + s + "/x" }} {
				way := fmt.Sprint(c.id, n)
				if tried[way] {
					continue
				}
				s.SetString(with(testkit.Tag))
				if !strings.Contains(c.runOn(t, f).Remedy, testkit.Tag) {
					continue
				}
				tried[way], checks[c.id] = true, true
				for _, name := range testkit.Hostile {
					s.SetString(with(name))
					r := c.runOn(t, f)
					testkit.Intact(t, r.Remedy, name)
					if commands := strings.Join(screen.Commands(r.Remedy, 40), "\n"); commands != r.Remedy {
						testkit.Intact(t, commands, name)
					}
				}
			}
			s.SetString(was)
		}
	}
	for _, id := range []string{"STO-001", "STO-002", "STO-003", "STO-004", "STO-005", "STO-007", "VRT-002"} {
		if !checks[id] {
			t.Errorf("no hostile name got into a remedy of %s: %d remedies tried", id, len(tried))
		}
	}
}

// texts are the strings that a host's files decide.
func texts(v reflect.Value) (list []reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return texts(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			list = append(list, texts(v.Field(i))...)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			list = append(list, texts(v.Index(i))...)
		}
	case reflect.String:
		if v.CanSet() && v.Type() != reflect.TypeFor[host.State]() {
			list = append(list, v)
		}
	}
	return list
}
