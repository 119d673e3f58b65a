package command

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/testkit"
	"hostlab/internal/trust"
	"hostlab/internal/workload"
)

func TestPicks(t *testing.T) {
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
		"regex, none": {`regex:x=(\d)`, "nothing here\n", "", 0,
			`found nothing in stdout, which begins "nothing here"`},
		"regex, several":   {`regex:x=(\d)`, "x=1 x=2 x=3", "", 0, `matches 3 times, first with "1", then with "2"`},
		"regex, NaN":       {`regex:x=(\S+)`, "x=NaN", "", 0, `found "NaN", which is not a plain number`},
		"regex, inf":       {`regex:x=(\S+)`, "x=-inf", "", 0, "not a plain number"},
		"regex, hex":       {`regex:x=(\S+)`, "x=0x10", "", 0, "not a plain number"},
		"regex, thousands": {`regex:x=(\S+)`, "x=1,000", "", 0, "not a plain number"},
		"regex, optional":  {`regex:x=(\d)?`, "x=", "", 0, `found "", which`},
		"regex, huge":      {`regex:x=(\S+)`, "x=1e999", "", 0, "beyond what a float holds"},
		"regex, not UTF-8": {`regex:x=(\d+)`, "\xff\xfe x=4 \xff", "", 4, ""},
		"regex, huge line": {`regex:x=(\d+)`, strings.Repeat("y", 1<<20) + "x=4", "", 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := testkit.Must(newPicker(workload.Pick{Name: "x", From: c.from, Unit: workload.AnyUnit}))(t)
			kept := func(s string) trust.Kept {
				k := &trust.Ends{Keep: keepStdout}
				_, _ = k.Write([]byte(s))
				return k.Kept()
			}
			got, _, err := p.pick(ended{stdout: kept(c.stdout), stderr: kept(c.stderr)}, nil)
			switch {
			case c.missing == "" && (err != nil || math.Abs(got-c.want) > 1e-12*c.want):
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			case c.missing != "" && (err == nil || !strings.Contains(err.Error(), c.missing) || len(err.Error()) > 400 ||
				strings.Contains(err.Error(), "\n")):
				t.Errorf("got %v, %v, want %q", got, err, c.missing)
			}
		})
	}
}

// A number that is cut out of a number is refused, and shown whole. A point at a sentence's end and a comma of a list
// are no part of one, nor is what the expression itself names as a separator.
func TestPartsOfNumbers(t *testing.T) {
	const digits, decimal = `(\d+) `, `([\d.]+) +`
	for text, expr := range map[string]string{
		"1,234,567 cycles": decimal + "cycles", "2,45 seconds": digits + "seconds", "1\u202f234\u202f567 cycles": decimal +
			"cycles", "1\u00a0234 cycles": digits + "cycles",
		"1\u2009234 cycles": digits + "cycles", "1'234 cycles": digits + "cycles", "1’234 cycles": digits + "cycles",
		"1_234_567 cycles": digits + "cycles",
		"12.5 s":           `(\d+) s`, "x=12.5 s": `x=(\d+)`, "12 s": `(\d) s`, "x=12": `x=(\d)`, ".5 s": `(\d) s`, "-5 s": `(\d) s`,
		"x=-5.5 s": `([\d.]+) s`, "x = −5 s": `(\d) s`,
		"x=1e9": `x=(\d+)`, "x=1e-9": `(\d+)$`, "x=1.5E+9 s": `x=([\d.]+)`, "x=0x10": `x=(\d+)`, "0x10 s": `(\d+) s`,
		"1:02.45elapsed": `([\d.]+)elapsed`, "0:02:45 h": `(\d+) h`,
		"1.234.567,89 s": `(\d+) s`, "12,34,567 cycles": digits + "cycles", "a 1,234": `a (\d+)`, "(2,45)": `\((\d+)`,
		"2,45s":   `\D(\d+)s`,
		"1.2.3 s": `^(\d+\.\d+)`, "12,345,678,9": `^(\d+)`,
	} {
		p := testkit.Must(newPicker(workload.Pick{Name: "x", From: "regex:" + expr, Unit: workload.AnyUnit}))(t)
		whole := strings.NewReplacer("cycles", "", " seconds", "", "elapsed", "", "x=", "", "x = ", "", "a ", "", " ms", "",
			"(", "", ")", "", " s", "", " h", "",
			"\u202f", " ", "\u2009", " ", "\u00a0", " ").Replace(text)
		whole = strings.TrimSuffix(strings.TrimSpace(whole), "s")
		if v, err := p.one([]byte(text)); err == nil || !strings.Contains(err.Error(), whole) {
			t.Errorf("%s of %q: %v, %v, want an error with %s", expr, text, v, err, whole)
		}
	}
	for text, c := range map[string]struct {
		expr string
		want float64
	}{
		"cycles: 12.": {`cycles: (\d+)`, 12}, "12,foo": {`(\d+)`, 12}, "foo,12,bar": {`(\d+)`, 12},
		"foo, 12, bar": {`(\d+)`, 12}, "12.": {`(\d+)`, 12}, "(12)": {`(\d+)`, 12},
		"t,12,345,x": {`t,(\d+),`, 12}, "12,34,56": {`^(\d+),34`, 12}, "12,345,678,9": {`^(\d+),`, 12},
		"192.168.0.1": {`\.(\d+)$`, 1},
		"cpu-5":       {`(\d)`, 5}, "1-5": {`-(\d)`, 5}, "x=-5": {`x=(-\d)`, -5}, "x=-6": {`x=-(\d)`, 6},
		"1.5e3 s": {`(\S+) s`, 1500}, "12ms": {`(\d+)ms`, 12}, "5 6": {`^(\d)`, 5}, "1 234 567": {`^(\d) `, 1},
		"2026-11-27": {`^(\d+)`, 2026}, "x=1,\n2": {`x=(\d)`, 1}, "took 3...5": {`took (\d)`, 3}, "a:12 b": {`a:(\d+)`, 12},
		"x=5..": {`x=(\d)`, 5}, "12.5": {`(\d+)\.\d`, 12}, "5%": {`(\d)`, 5}, "'12'": {`(\d+)`, 12},
		"\"a\":12,\"b\":\"": {`"a":(\d+)`, 12}, "  12 ": {`( +\d+ )`, 12}, "4 1234 ms": {`(\d+) ms`, 1234},
		"1234 567 ms": {`(\d+) ms`, 567}, "1 23 ms": {`(\d+) ms`, 23},
		"1 234 567 8": {`^\d+\s+\d+\s+(\d+)`, 567}, "5 234 ms": {`\d (\d+) ms`, 234}, "7 123": {`(\d+) \d`, 7},
	} {
		p := testkit.Must(newPicker(workload.Pick{Name: "x", From: "regex:" + c.expr, Unit: workload.AnyUnit}))(t)
		testkit.Is(t, c.want, testkit.Must(p.one([]byte(text)))(t), c.expr, text)
	}
}

// A unit that the expression does not ask for stays the same from run to run.
func TestUnitsBehind(t *testing.T) {
	for text, other := range map[string]string{"took 850 ms": "took 1.2 s", "took 3 MiB/s": "took 1 GiB/s",
		"took 5k": "took 1M", "took 5": "took 5 s"} {
		p := testkit.Must(newPicker(workload.Pick{Name: "x", From: `regex:took ([\d.]+)`, Unit: workload.AnyUnit}))(t)
		for i, line := range []string{text, text, other} {
			if _, err := p.one([]byte(line)); (err != nil) != (i == 2) {
				t.Errorf("%s after %s: %v", line, text, err)
			}
		}
	}
	for expr, want := range map[string]string{`took ([\d.]+)`: `found 1.2 with "s" behind it, and with "ms" before`,
		`took ([\d.]+)m?s`: ""} {
		p := testkit.Must(newPicker(workload.Pick{Name: "x", From: "regex:" + expr, Unit: workload.AnyUnit}))(t)
		for _, text := range []string{"took 850ms", "none", "took 900ms."} {
			if _, err := p.one([]byte(text)); err != nil && text != "none" {
				t.Errorf("%s: %v", text, err)
			}
		}
		if _, err := p.one([]byte("took 1.2s")); want == "" && err != nil || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", expr, err, want)
		}
	}
}

func TestPicksThatCannotBe(t *testing.T) {
	for from, want := range map[string]string{
		"json:elapsed":    "write a path such as json:$.elapsed",
		"regex:(":         "missing closing",
		"regex:x":         "has 0 groups",
		"regex:(a)(b)":    "has 2 groups",
		"elapsed":         "is none of json:PATH",
		"":                "is none of json:PATH",
		"wal":             "is none of json:PATH",
		"json:$..[?@.a=]": "json:",
	} {
		if _, err := newPicker(workload.Pick{From: from}); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q gave %v, want %q", from, err, want)
		}
	}
}

// Where user and system may be 0 the sample says what to take, for picks of them too.
func TestZeroIsExplained(t *testing.T) {
	s := &session{}
	for name, from := range map[string]string{"mine": "system", "all": "cpu"} {
		p := testkit.Must(newPicker(workload.Pick{Name: name, From: from}))(t)
		s.picks = append(s.picks, p)
	}
	got := s.sample(ended{}).Zero
	for name, want := range map[string]bool{"user": true, "system": true, "mine": true, "cpu": false, "all": false,
		"wall": false} {
		testkit.Is(t, want, strings.Contains(got[name], "take cpu"), name, got[name])
	}
}

// Whatever is printed, a number is found or an error; a plain number by itself is always taken.
func TestAnyOutput(t *testing.T) {
	p := testkit.Must(newPicker(workload.Pick{Name: "x", From: `regex:(\d+)`, Unit: workload.AnyUnit}))(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("0123 .,'’_:eExX+-−\u00a0\u2009\u202fa%\n\xff"))).Draw(t, "text")
		_, _ = p.one([]byte(text))
		n := rapid.IntRange(0, 1e9).Draw(t, "n")
		for _, form := range []string{"%d", "took %d s.", "a,%d,b", "x=%d\n", "(%d)", "%d, "} {
			if v, err := fresh(t).one(fmt.Appendf(nil, form, n)); err != nil || v != float64(n) {
				t.Fatalf("%s: %v, %v", form, v, err)
			}
		}
	})
}

func fresh(t *rapid.T) picker {
	return testkit.Must(newPicker(workload.Pick{Name: "x", From: `regex:(\d+)`, Unit: workload.AnyUnit}))(t)
}
