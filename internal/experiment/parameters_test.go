package experiment

import (
	"errors"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// Whatever is written as a parameter of a workload, or as a level of one, is taken or refused with its place: nothing
// that follows from parameters is asked of a workload whose parameters were refused.
func TestParametersOfAnyKind(t *testing.T) {
	values := testkit.Sample([]string{"5", "-5", "5.5", `"5"`, `"5s"`, `""`, `"x y"`, "true", "[]", "[1, 2]", `["a", "b"]`,
		"[[1]]", `{a = "b"}`, "{a = 1}", "2026-11-27", "inf", "nan", "0x10",
		"9223372036854775807", `"\u0000"`, `"` + strings.Repeat("long ", 500) + `"`}, 7)
	const setting = "[[factor]]\nname = \"f\"\nsetting = \"swappiness\"\nlevels = [\"current\", \"10\"]\n"
	k := everything()
	k.Setting = func(typed string) (string, error) { return typed, nil }
	refused, taken := 0, 0
	try := func(name, text string) {
		t.Helper()
		s, err := Parse("x.toml", "/", []byte(text), Overrides{}, k)
		bad, is := errors.AsType[*Problems](err)
		switch {
		case (s == nil) == (err == nil), err != nil && (!is || len(bad.List) == 0):
			t.Errorf("%s: study %v and error %v", name, s != nil, err)
		case err != nil:
			refused++
		default:
			taken++
			s.Paced(0)
			s.Outside()
			Describe(s)
		}
	}
	for _, w := range k.Workloads {
		d := w.Describe()
		required := ""
		for _, p := range d.List() {
			if p.Required {
				required += p.Name + " = [\"true\"]\n"
			}
		}
		response := d.Responses[0].Name
		for _, design := range []string{"", "[harm]\nevery = \"5s\"\n"} {
			study := func(params, factor string) string {
				return "[study]\nname = \"x\"\n" + design + factor + "[workload]\nname = \"" + d.Name + "\"\n" + params +
					"[[response]]\nname = \"" + response + "\"\nequiv = \"2%\"\n"
			}
			try(d.Name, study(required, setting))
			try(d.Name+" without what it needs", study("", setting))
			for _, key := range append([]string{"nosuch", "fro", "name", "timeout", "warmup", "settle", "\"\""},
				paramNames(d)...) {
				for _, v := range values {
					others := ""
					for line := range strings.Lines(required) {
						if !strings.HasPrefix(line, key+" ") {
							others += line
						}
					}
					try(d.Name+": "+key+" = "+v, study(others+key+" = "+v+"\n", setting))
					try(d.Name+": a factor of "+key+", "+v, study(others, "[[factor]]\nname = \"f\"\nparameter = \""+
						strings.Trim(key, `"`)+"\"\nlevels = ["+v+", 7]\n"))
				}
			}
		}
	}
	t.Logf("%d were taken and %d refused", taken, refused)
	if taken < 50 || refused < testkit.Times(3000, 1000) {
		t.Error("too few of either")
	}
}
