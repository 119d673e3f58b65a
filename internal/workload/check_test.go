package workload

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hostlab/internal/lazyre"
)

// described has a parameter of every kind.
var described = Description{Name: "sample", Params: []Param{
	{Name: "text", Kind: String, Default: "a", Choices: nil},
	{Name: "word", Kind: String, Default: "one", Choices: []string{"one", "two"}},
	{Name: "number", Kind: Int, Default: int64(3), Min: 1, Max: 64},
	{Name: "share", Kind: Float, Default: 0.5, Unit: "s"},
	{Name: "flag", Kind: Bool, Default: false},
	{Name: "time", Kind: Duration, Default: time.Second, Min: 0.001, Max: 10},
	{Name: "size", Kind: Bytes, Default: int64(4096), Min: 4096, Max: 1 << 30},
	{Name: "list", Kind: List, Default: []string{}},
	{Name: "table", Kind: Table, Default: map[string]string{}},
	{Name: "part", Kind: Share, Default: 0.5, Max: 0.9},
	{Name: "looks", Kind: Ints, Default: []int64{1}, Min: 1, Max: 9},
	{Name: "label", Kind: String, Default: "a", Form: lazyre.New(`^[a-z]+$`), Wants: "a label has small letters", Numbers: true},
	{Name: "tags", Kind: List, Default: []string{}, Choices: []string{"", "red"}},
	{Name: "needed", Kind: Int, Required: true, Help: "what for"},
}}

func TestCheck(t *testing.T) {
	got, err := Check(described, map[string]any{"text": "b", "number": 4, "share": int64(2), "flag": true, "time": "150ms", "size": "64MiB",
		"list": []any{"a", int64(1), 2.5, true, ""}, "table": map[string]any{"A": "x y", "B": int64(1)}, "needed": int64(7),
		"part": "30 %", "looks": []any{int64(2), int64(5)}, "label": true, "tags": []any{"red"}})
	if err != nil {
		t.Fatal(err)
	}
	want := Values{"text": "b", "word": "one", "number": int64(4), "share": 2.0, "flag": true, "time": 150 * time.Millisecond, "size": int64(64 << 20),
		"list": []string{"a", "1", "2.5", "true", ""}, "table": map[string]string{"A": "x y", "B": "1"}, "needed": int64(7),
		"part": 0.3, "looks": []int64{2, 5}, "label": "true", "tags": []string{"red"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCheckRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"text":   {int64(3), `expected text, found 3; put it in quotes: "3"`},
		"word":   {"twoo", `"twoo": expected one, two; did you mean two?`},
		"number": {int64(65), "65 is outside of 1 to 64"},
		"share":  {"x", `expected a number, found the text "x"`},
		"flag":   {"yes", "expected true or false"},
		"time":   {int64(3), `give its unit, as in "3s" or "3ms"`},
		"size":   {int64(1), "is outside of 4 KiB to 1 GiB"},
		"list":   {"gzip -1", `write each word by itself: ["gzip","-1"]; there is no shell`},
		"table":  {[]any{}, "expected a table, found a list"},
		"part":   {int64(30), `3000% is outside of 0% to 90%; write "30%"`},
		"looks":  {[]any{int64(2), "x"}, `expected a whole number, found the text "x"`},
		"label":  {int64(3), `"3": a label has small letters`},
		"tags":   {[]any{"red", "rde"}, `"rde": expected "", red; did you mean red?`},
		"needed": {1.5, "expected a whole number, found 1.5"},
		"nubmer": {int64(1), "workload sample has none of that name; did you mean number?"},
		"zzzzzz": {int64(1), "it has text, word, number"},
	} {
		_, err := Check(described, map[string]any{name: c.value, "needed": int64(1)})
		if name == "needed" {
			_, err = Check(described, map[string]any{name: c.value})
		}
		p, ok := errors.AsType[*ParamError](err)
		if list := name == "looks" || name == "tags"; ok && (p.Element == 2) != list {
			t.Errorf("%s: element %d", name, p.Element)
		}
		if !ok || p.Name != name || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %v gave %v, want %s", name, c.value, err, c.want)
		}
	}
	for name, v := range map[string]any{"time": "1m", "share": 0.0, "list": []any{[]any{}}, "table": map[string]any{"A": []any{}}, "size": "5kB"} {
		if _, err := Check(described, map[string]any{name: v, "needed": int64(1)}); (err == nil) != (name == "share") {
			t.Errorf("%s = %v gave %v", name, v, err)
		}
	}
	// All at once, in the order of their names.
	_, err := Check(described, map[string]any{"word": "x", "flag": int64(2)})
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "parameter flag") || !strings.HasPrefix(lines[2], "parameter needed: missing") {
		t.Errorf("%q", lines)
	}
}

func TestParseText(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       any // nil: refused
	}{
		{"number", "12", int64(12)}, {"number", "65", nil}, {"number", "1.5", nil}, {"number", "", nil},
		{"share", "1e-3", 0.001}, {"share", "NaN", nil}, {"share", "inf", nil},
		{"part", "3 %", 0.03}, {"part", "0.03", 0.03}, {"part", "120%", nil}, {"part", "x%", nil}, {"looks", "2 5", []int64{2, 5}}, {"looks", "2 99", nil}, {"looks", "2,5", nil},
		{"flag", "on", true}, {"flag", "No", false}, {"flag", "maybe", nil},
		{"time", "1m30s", nil}, {"time", "2s", 2 * time.Second}, {"time", "2", nil},
		{"size", "1.5 MiB", int64(3 << 19)}, {"size", "64kib", int64(64 << 10)}, {"size", "8192", int64(8192)}, {"size", "64MB", nil},
		{"size", "1e30GiB", nil}, {"size", "9999999999GiB", nil},
		{"list", "a  b", []string{"a", "b"}}, {"list", `["a b", ""]`, []string{"a b", ""}}, {"list", `["a`, nil}, {"list", "", []string{}},
		{"table", "A=1 B=x=y", map[string]string{"A": "1", "B": "x=y"}}, {"table", `{"A": "b c"}`, map[string]string{"A": "b c"}}, {"table", "A", nil},
		{"word", "two", "two"}, {"word", "three", nil},
	} {
		p, _ := described.Param(c.name)
		got, err := ParseText(p, c.text)
		if (err != nil) != (c.want == nil) || c.want != nil && !cmp.Equal(c.want, got) {
			t.Errorf("%s = %q gave %v, %v", c.name, c.text, got, err)
		}
	}
}

// Text is what ParseText reads, for every value.
func TestTextRoundTrip(t *testing.T) {
	generators := map[Kind]*rapid.Generator[any]{
		String:   rapid.String().AsAny(),
		Int:      rapid.Int64().AsAny(),
		Float:    rapid.Float64Range(-1e300, 1e300).AsAny(),
		Share:    rapid.Float64Range(0, 1).AsAny(),
		Ints:     rapid.SliceOf(rapid.Int64()).AsAny(),
		Bool:     rapid.Bool().AsAny(),
		Duration: rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) }).AsAny(),
		Bytes:    rapid.OneOf(rapid.Int64Range(-1<<50, 1<<50), rapid.Map(rapid.Int64Range(-1<<20, 1<<20), func(n int64) int64 { return n << 20 })).AsAny(),
		List:     rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"[", "{", "a b", "=", "", "<&>", "\u2028"}))).AsAny(),
		Table:    rapid.MapOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"{A", "A=", ""})), rapid.String()).AsAny(),
	}
	for kind, g := range generators {
		t.Run(string(kind), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				v := g.Draw(t, "value")
				p := Param{Name: "p", Kind: kind}
				got, err := ParseText(p, Text(p, v))
				if err != nil || !cmp.Equal(v, got) {
					t.Fatalf("%#v as text is %q, which reads as %#v, %v", v, Text(p, v), got, err)
				}
			})
		})
	}
}

func FuzzParseText(f *testing.F) {
	for _, s := range []string{"1", "1.5GiB", "[\"a\"]", "{\"a\":\"b\"}", "A=1", "1h0m0s", "[", "-0", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range described.Params {
			v, err := ParseText(p, text)
			if err != nil {
				if strings.Contains(err.Error(), "\n") && p.Kind != String {
					t.Errorf("%s: more than one line: %q", p.Name, err)
				}
				continue
			}
			back, err := ParseText(p, Text(p, v))
			if err != nil || !cmp.Equal(v, back) {
				t.Errorf("%s = %q is %#v, and back %#v, %v", p.Name, text, v, back, err)
			}
		}
	})
}
