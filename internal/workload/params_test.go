package workload

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

// sample has a parameter of every type.
type sample struct {
	Text   string          `toml:"text"`
	Word   string          `toml:"word" jsonschema:"enum=one,enum=two"`
	Number int             `toml:"number" jsonschema:"minimum=1,maximum=64"`
	Factor float64         `toml:"factor" unit:"s"`
	Flag   bool            `toml:"flag"`
	Time   Span            `toml:"time" limits:"0.001,10"`
	Size   Bytes           `toml:"size" limits:"4096,1073741824"`
	List   []Word          `toml:"list"`
	Table  map[string]Word `toml:"table"`
	Part   Share           `toml:"part" limits:"0,0.9"`
	Looks  []int           `toml:"looks" jsonschema:"minimum=1,maximum=9"`
	Label  Word            `toml:"label"`
	Tags   []Word          `toml:"tags" jsonschema:"enum=red,enum="`
	Needed int             `toml:"needed" jsonschema:"required"`
}

func described() Description {
	return Description{Name: "sample", Params: &sample{Text: "a", Word: "one", Number: 3, Factor: 0.5, Time: Seconds(1),
		Size: 4096, Part: 0.5, Looks: []int{1}}}
}

func TestCheck(t *testing.T) {
	d := described()
	got := testkit.Must(Check(d, map[string]any{"text": "b", "number": 4, "factor": int64(2), "flag": true, "time": "150ms",
		"size": "64MiB",
		"list": []any{"a_b", int64(1), 2.5, true, ""}, "table": map[string]any{"A": "x y", "B": int64(1)}, "needed": int64(7),
		"part": "30 %", "looks": []any{int64(2), int64(5)}, "label": true, "tags": []any{"red"}}))(t)
	want := &sample{Text: "b", Word: "one", Number: 4, Factor: 2, Flag: true, Time: Seconds(0.15), Size: 64 << 20,
		List: []Word{"a_b", "1", "2.5", "true", ""}, Table: map[string]Word{"A": "x y", "B": "1"}, Needed: 7,
		Part: 0.3, Looks: []int{2, 5}, Label: "true", Tags: []Word{"red"}}
	testkit.Same(t, want, got)
	testkit.Same(t, described(), d, "the defaults were changed")
}

func TestCheckRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"text":   {int64(3), `expected text, found 3; put it in quotes: "3"`},
		"word":   {"twoo", `"twoo": expected one, two; did you mean two?`},
		"number": {int64(65), "65 is outside of 1 to 64"},
		"factor": {"x", `expected a number, found the text "x"`},
		"flag":   {"yes", "expected true or false"},
		"time":   {int64(3), `give its unit, as in "3s" or "3ms"`},
		"size":   {int64(1), "is outside of 4 KiB to 1 GiB"},
		"list":   {"gzip -1", `write each word by itself: ["gzip","-1"]`},
		"table":  {[]any{}, "expected a table of texts, found a list"},
		"size ":  {int64(1), "did you mean size?"},
		"part":   {int64(30), `3000% is outside of 0% to 90%; write "30%"`},
		"looks":  {[]any{int64(2), "x"}, `element 2 of the list: expected a whole number, found the text "x"`},
		"tags":   {[]any{"red", "rde"}, `"rde": expected red, ""; did you mean red?`},
		"needed": {1.5, "expected a whole number, found 1.5"},
		"nubmer": {int64(1), "workload sample has none of that name; did you mean number?"},
		"Number": {int64(1), "workload sample has none of that name; did you mean number?"},
		"zzzzzz": {int64(1), "it has text, word, number"},
	} {
		_, err := Check(described(), map[string]any{"needed": int64(1), name: c.value})
		p, ok := errors.AsType[*ParamError](err)
		if !ok || p.Name != name || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %v gave %v, want %s", name, c.value, err, c.want)
		}
	}
	for name, v := range map[string]any{"time": "1m", "factor": 0.0, "list": []any{[]any{}},
		"table": map[string]any{"A": []any{}}, "size": "5kB", "label": []any{}, "text": "\xff"} {
		if _, err := Check(described(), map[string]any{name: v, "needed": int64(1)}); (err == nil) != (name == "factor") {
			t.Errorf("%s = %v gave %v", name, v, err)
		}
	}
	_, err := Check(described(), map[string]any{"table": map[string]any{"A": "b", "B": []any{}}, "needed": int64(1)})
	if want := "parameter table.B: expected text, found a list"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	// All at once, in the order of their names.
	_, err = Check(described(), map[string]any{"word": "x", "flag": int64(2)})
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "parameter flag") ||
		!strings.HasPrefix(lines[2], "parameter needed: missing") {
		t.Errorf("%q", lines)
	}
}

func TestTyped(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       any // nil: refused
	}{
		{"number", "12", 12}, {"number", "65", nil}, {"number", "1.5", nil}, {"number", "", nil},
		{"factor", "1e-3", 0.001}, {"factor", "NaN", nil}, {"factor", "inf", nil}, {"text", "\xff", nil},
		{"part", "3 %", Share(0.03)}, {"part", "0.03", Share(0.03)}, {"part", "120%", nil}, {"part", "x%", nil},
		{"flag", "on", true}, {"flag", "No", false}, {"flag", "maybe", nil},
		{"time", "1m30s", nil}, {"time", "2s", Seconds(2)}, {"time", "2", nil},
		{"size", "1.5 MiB", Bytes(3 << 19)}, {"size", "64kib", Bytes(64 << 10)}, {"size", "8192", Bytes(8192)},
		{"size", "64MB", nil},
		{"size", "1e30GiB", nil}, {"size", "9999999999GiB", nil},
		{"list", "a  b", []Word{"a", "b"}}, {"list", `["a b", ""]`, []Word{"a b", ""}}, {"list", `["a`, nil},
		{"list", "", []Word{}},
		{"table", "A=1 B=x=y", map[string]Word{"A": "1", "B": "x=y"}}, {"table", `{"A": "b c"}`, map[string]Word{"A": "b c"}},
		{"table", "A", nil},
		{"word", "two", "two"}, {"word", "three", nil},
	} {
		got, err := With(described().Params, c.name, c.text)
		if (err != nil) != (c.want == nil) || err == nil && !cmp.Equal(c.want, Value(got, c.name)) {
			t.Errorf("%s = %q gave %v, %v", c.name, c.text, got, err)
		}
	}
}

// What Text writes, With reads.
func TestTextRoundTrip(t *testing.T) {
	type free struct {
		Text  string          `toml:"text"`
		Int   int             `toml:"int"`
		Float float64         `toml:"float"`
		Share Share           `toml:"share"`
		Flag  bool            `toml:"flag"`
		Time  Span            `toml:"time"`
		Size  Bytes           `toml:"size"`
		List  []Word          `toml:"list"`
		Table map[string]Word `toml:"table"`
	}
	words := rapid.Map(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"[", "{", "a b", "=", "", "<&>", "\u2028"})),
		func(s string) Word { return Word(s) })
	rapid.Check(t, func(t *rapid.T) {
		given := &free{Text: rapid.String().Draw(t, "text"), Int: rapid.Int().Draw(t, "int"),
			Float: rapid.Float64Range(-1e300, 1e300).Draw(t, "float"),
			Share: Share(rapid.Float64Range(0, 1).Draw(t, "share")), Flag: rapid.Bool().Draw(t, "flag"),
			Time: Span{time.Duration(rapid.Int64().Draw(t, "time"))},
			Size: Bytes(rapid.Int64Range(-1<<20, 1<<20).Draw(t, "size") << rapid.IntRange(0, 20).Draw(t, "shift")),
			List: rapid.SliceOf(words).Draw(t, "list"),
			Table: rapid.MapOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"{A", "A=", ""})), words).Draw(t,
				"table")}
		var got Params = &free{}
		for _, p := range (Description{Params: given}).List() {
			var err error
			if got, err = With(got, p.Name, p.Default); err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
		}
		if diff := cmp.Diff(given, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzTyped(f *testing.F) {
	for _, s := range []string{"1", "1.5GiB", "[\"a\"]", "{\"a\":\"b\"}", "A=1", "1h0m0s", "[", "-0", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range described().List() {
			if p.Name == "looks" {
				continue // only files have it
			}
			v, err := With(described().Params, p.Name, text)
			if err != nil {
				if strings.Contains(err.Error(), "\n") && p.Kind != "string" {
					t.Errorf("%s: more than one line: %q", p.Name, err)
				}
				continue
			}
			back, err := With(described().Params, p.Name, p.Text(v))
			if err != nil || !cmp.Equal(v, back) {
				t.Errorf("%s = %q is %#v, and back %#v, %v", p.Name, text, v, back, err)
			}
		}
	})
}

func TestFill(t *testing.T) {
	for _, c := range []struct {
		n       int
		missing []string
	}{{0, []string{"max", "mean", "p50", "p95", "p99"}}, {1, []string{"p95", "p99"}}, {199, []string{"p95", "p99"}},
		{200, []string{"p99"}}, {999, []string{"p99"}}, {1000, nil}} {
		var s Sample
		var times []float64
		for i := range c.n {
			times = append(times, float64(i+1)*1e-3)
		}
		FillLatency(&s, "commit", times)
		for _, r := range LatencyResponses("commit") {
			_, value := s.Values[r.Name]
			missing := s.Missing[r.Name] != ""
			want := false
			for _, m := range c.missing {
				want = want || m == r.Name
			}
			if value == missing || missing != want {
				t.Errorf("%d operations: %s value %v, missing %v", c.n, r.Name, value, missing)
			}
		}
		if s.Operations != int64(c.n) || (s.Latency == nil) != (c.n == 0) {
			t.Errorf("%d operations: %+v", c.n, s)
		}
		if c.n == 1000 {
			for name, want := range map[string]float64{"p50": 0.5005, "p95": 0.95005, "p99": 0.99001, "mean": 0.5005, "max": 1} {
				if math.Abs(s.Values[name]-want) > 1e-9 {
					t.Errorf("%s = %v, want %v", name, s.Values[name], want)
				}
			}
		}
	}
}

func TestDistribution(t *testing.T) {
	d := Distribution("x", []float64{0, 1e-3, 1.01e-3, 0.5, 0.5})
	sum := 0
	for i, n := range d.Count {
		sum += n
		if n > 0 && i > 0 && !(d.Edge[i] > d.Edge[i-1]) {
			t.Error("edges do not rise")
		}
	}
	if sum != 5 || d.Edge[len(d.Edge)-1] < 0.5 || d.Count[len(d.Count)-1] != 2 {
		t.Errorf("%+v", d)
	}
	if Distribution("x", []float64{0}) != nil {
		t.Error("times of 0 have classes")
	}
}

func TestArrivals(t *testing.T) {
	start := time.Unix(1000, 0)
	gaps := func(a *Arrivals) (out []float64) {
		last := start
		for range 5000 {
			next := a.Next()
			out = append(out, next.Sub(last).Seconds())
			last = next
		}
		return out
	}
	for _, g := range gaps(Even(start, 100)) {
		if g != 0.01 {
			t.Fatalf("even arrivals, %v apart", g)
		}
	}
	a, b := gaps(Poisson(start, 100, 3)), gaps(Poisson(start, 100, 3))
	testkit.Is(t, "", cmp.Diff(a, b), "the same seed gave other gaps")
	if cmp.Equal(a, gaps(Poisson(start, 100, 4))) {
		t.Error("another seed gave the same gaps")
	}
	var sum, long float64
	for _, g := range a {
		sum += g
		if g > 0.01 {
			long++
		}
	}
	// Exponential: the mean is 10 ms, and exp(-1) of the gaps are longer than that.
	if mean, share := sum/5000, long/5000; math.Abs(mean-0.01) > 0.0006 || math.Abs(share-math.Exp(-1)) > 0.03 {
		t.Errorf("gaps of %.4f s on average, %.3f longer than 10 ms", mean, share)
	}
}
