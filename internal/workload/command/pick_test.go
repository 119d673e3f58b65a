package command

import (
	"math"
	"strings"
	"testing"

	"hostlab/internal/workload"
)

func TestPicks(t *testing.T) {
	const bench = "goos: linux\nBenchmarkSort/n=10-8  100  2000 ns/op  64 B/op  12.5 MB/s\nBenchmarkSort/n=10-8  100  4000 ns/op  64 B/op  12.5 MB/s\n" +
		"BenchmarkOdd 1 NaN ns/op\nBenchmarkBroken x y\nPASS\n"
	for name, c := range map[string]struct {
		from, stdout, stderr string
		want                 float64
		missing              string
	}{
		"json":              {"json:$.a[0].b", `{"a":[{"b":1.5e3}]}`, "", 1500, ""},
		"json, a filter":    {"json:$[?@.n=='x'].v", `[{"n":"y","v":1},{"n":"x","v":2}]`, "", 2, ""},
		"json, none":        {"json:$.c", `{"a":1}`, "", 0, `found nothing in stdout, which begins "{\"a\":1}"`},
		"json, several":     {"json:$[*]", `[1,2]`, "", 0, "selects 2 values"},
		"json, text":        {"json:$.a", `{"a":"1"}`, "", 0, `found the text "1", not a number`},
		"json, null":        {"json:$.a", `{"a":null}`, "", 0, "found null"},
		"json, an object":   {"json:$", `{"a":null}`, "", 0, "found an object"},
		"json, huge":        {"json:$", `1e999`, "", 0, "not JSON"},
		"json, not":         {"json:$", "hello\xff", "", 0, `it begins "hello`},
		"json, two":         {"json:$.a", `{"a":1} {"a":2}`, "", 0, "goes on after"},
		"json, empty":       {"json:$.a", "  \n", "", 0, "the output, which is empty"},
		"json, only stdout": {"json:$.a", "", `{"a":1}`, 0, "found nothing"},
		"regex":             {`regex:tps = ([\d.]+)`, "tps = 12.5 x", "", 12.5, ""},
		"regex, stderr":     {`regex:took (\S+) s`, "12", "took 3e-1 s", 0.3, ""},
		"regex, first":      {`regex:took (\S+) s`, "took 1 s", "took 2 s", 1, ""},
		"regex, none":       {`regex:x=(\d)`, "nothing here\n", "", 0, `found nothing in stdout, which begins "nothing here"`},
		"regex, several":    {`regex:x=(\d)`, "x=1 x=2 x=3", "", 0, `matches 3 times, first with "1", then with "2"`},
		"regex, NaN":        {`regex:x=(\S+)`, "x=NaN", "", 0, `found "NaN", which is not a plain number`},
		"regex, inf":        {`regex:x=(\S+)`, "x=-inf", "", 0, "not a plain number"},
		"regex, hex":        {`regex:x=(\S+)`, "x=0x10", "", 0, "not a plain number"},
		"regex, thousands":  {`regex:x=(\S+)`, "x=1,000", "", 0, "not a plain number"},
		"regex, optional":   {`regex:x=(\d)?`, "x=", "", 0, `found "", which`},
		"regex, huge":       {`regex:x=(\S+)`, "x=1e999", "", 0, "beyond what a float holds"},
		"regex, not UTF-8":  {`regex:x=(\d+)`, "\xff\xfe x=4 \xff", "", 4, ""},
		"regex, huge line":  {`regex:x=(\d+)`, strings.Repeat("y", 1<<20) + "x=4", "", 4, ""},
		"bench, mean":       {"gobench:BenchmarkSort/n=10 ns/op", bench, "", 3e-6, ""},
		"bench, with procs": {"gobench:Sort/n=10-8 sec/op", bench, "", 3e-6, ""},
		"bench, bytes":      {"gobench:Sort/n=10 B/op", bench, "", 64, ""},
		"bench, rate":       {"gobench:Sort/n=10 MB/s", bench, "", 12.5e6, ""},
		"bench, other unit": {"gobench:Sort/n=10 allocs/op", bench, "", 0, "has no allocs/op; it has sec/op, B/op, B/s"},
		"bench, none":       {"gobench:Sort/n=1 ns/op", bench, "", 0, "found nothing"},
		"bench, NaN":        {"gobench:Odd ns/op", bench, "", 0, "not a finite number"},
		"bench, huge line":  {"gobench:Odd B/op", "BenchmarkLong " + strings.Repeat("9", 1<<20) + "\nBenchmarkOdd 1 5 B/op", "", 5, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := newPicker(workload.Pick{Name: "x", From: c.from})
			if err != nil {
				t.Fatal(err)
			}
			kept := func(s string) output {
				k := &capture{keep: keepStdout}
				_, _ = k.Write([]byte(s))
				return k.output()
			}
			got, _, err := p.pick(ended{stdout: kept(c.stdout), stderr: kept(c.stderr)}, nil)
			switch {
			case c.missing == "" && (err != nil || math.Abs(got-c.want) > 1e-12*c.want):
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			case c.missing != "" && (err == nil || !strings.Contains(err.Error(), c.missing) || len(err.Error()) > 400 || strings.Contains(err.Error(), "\n")):
				t.Errorf("got %v, %v, want %q", got, err, c.missing)
			}
		})
	}
}

func TestPicksThatCannotBe(t *testing.T) {
	for from, want := range map[string]string{
		"json:elapsed":    "write a path such as json:$.elapsed",
		"regex:(":         "missing closing",
		"regex:x":         "has 0 groups",
		"regex:(a)(b)":    "has 2 groups",
		"gobench:Sort":    "write a name and a unit",
		"elapsed":         "is none of json:PATH",
		"":                "is none of json:PATH",
		"wal":             "is none of json:PATH",
		"json:$..[?@.a=]": "json:",
	} {
		if _, err := newPicker(workload.Pick{From: from}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q gave %v, want %q", from, err, want)
		}
	}
}
