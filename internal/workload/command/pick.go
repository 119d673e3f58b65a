package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/theory/jsonpath"

	"hostlab/internal/lazyre"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/trust"
	"hostlab/internal/workload"
)

// measured are the responses that no output is needed for.
var measured = []string{"wall", "user", "system", "cpu", "max_rss"}

// picker finds one number.
type picker struct {
	workload.Pick
	measured string                             // one of measured, or ""
	one      func(text []byte) (float64, error) // from text
	whole    bool                               // one needs all of stdout, and nothing else
}

// errNone is text without a match: the rest may have one.
var errNone = errors.New("found nothing")

func newPicker(p workload.Pick) (picker, error) {
	out := picker{Pick: p}
	out.Scale = cmp.Or(out.Scale, 1)
	if slices.Contains(measured, p.From) {
		out.measured = p.From
		return out, nil
	}
	kind, expr, _ := strings.Cut(p.From, ":")
	switch kind {
	case "json":
		path, err := jsonpath.Parse(expr)
		if err != nil {
			return out, fmt.Errorf("json:%s: %s; write a path such as json:$.elapsed", expr,
				strings.TrimPrefix(err.Error(), "jsonpath: "))
		}
		out.whole = true
		out.one = func(text []byte) (float64, error) { return fromJSON(path, text) }
	case "regex":
		re, err := regexp.Compile(expr)
		if err != nil {
			return out, fmt.Errorf("regex:%s: %s", expr, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
		if n := re.NumSubexp(); n != 1 {
			return out, fmt.Errorf("regex:%s has %d groups; it needs one around the number, and (?:...) around others", expr, n)
		}
		around, first := namedAround(expr), ""
		seen := false
		out.one = func(text []byte) (float64, error) {
			v, unit, err := fromRegexp(re, around, text)
			if err == nil && seen && unit != first {
				return 0, fmt.Errorf(
					"found %g with %q behind it, and with %q before: name the unit in the expression, and have one "+
						"printed", v, screen.Clean(unit), screen.Clean(first))
			}
			if err == nil {
				first, seen = unit, true
			}
			return v, err
		}
	default:
		return out, fmt.Errorf("from = %q is none of json:PATH, regex:EXPR, %s", p.From,
			strings.Join(measured, ", "))
	}
	return out, nil
}

// pick finds the number, before scaling, in what a run printed or measured.
func (p picker) pick(done ended, values map[string]float64) (v float64, warning string, err error) {
	if p.measured != "" {
		v, ok := values[p.measured]
		if !ok {
			return 0, "", errNone
		}
		return v, "", nil
	}
	size := func(o trust.Kept) string { return result.Format(float64(o.Total), "B") }
	if p.whole {
		if done.stdout.Cut() {
			return 0, "", fmt.Errorf("stdout was %s, of which the middle was dropped; print no more than %s", size(done.stdout),
				result.Format(2*keepStdout, "B"))
		}
		v, err = p.one(done.stdout.Parts[0])
		if errors.Is(err, errNone) {
			err = fmt.Errorf("%w in %s", err, shown(done))
		}
		return v, "", err
	}
	for _, o := range []trust.Kept{done.stdout, done.stderr} {
		var found []float64
		for _, part := range o.Parts {
			v, err := p.one(part)
			if errors.Is(err, errNone) {
				continue
			}
			if err != nil {
				return 0, "", err
			}
			found = append(found, v)
		}
		if o.Cut() {
			warning = fmt.Sprintf("%s were printed, and looked at only in the first and last %s", size(o),
				result.Format(float64(len(o.Parts[0])), "B"))
		}
		switch len(found) {
		case 1:
			return found[0], warning, nil
		case 2:
			return 0, "", fmt.Errorf("matches in the first and in the last part of %s of output; it should match once", size(o))
		}
	}
	if warning != "" {
		return 0, "", fmt.Errorf("%w in %s (%s)", errNone, shown(done), warning)
	}
	return 0, "", fmt.Errorf("%w in %s", errNone, shown(done))
}

// shown is the beginning of the output, for a message.
func shown(done ended) string {
	for _, o := range []struct {
		name string
		trust.Kept
	}{{"stdout", done.stdout}, {"stderr", done.stderr}} {
		if text := bytes.TrimSpace(o.Parts[0]); len(text) > 0 {
			return fmt.Sprintf("%s, which begins %q", o.name, screen.Clean(excerpt(text, 80)))
		}
	}
	return "the output, which is empty"
}

// plainNumber is what counts as a number in text: strconv would also take "inf",
// "nan" and hexadecimal ones.
var plainNumber = lazyre.New(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

func number(text string) (float64, error) {
	if !plainNumber.MatchString(text) {
		return 0, fmt.Errorf("found %q, which is not a plain number", screen.Clean(excerpt([]byte(text), 40)))
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("found %s, which is beyond what a float holds", excerpt([]byte(text), 40))
	}
	return v, nil
}

// fromRegexp is the number in the one match, and the unit behind it that the expression does not ask for.
func fromRegexp(re *regexp.Regexp, around named, text []byte) (v float64, behind string, err error) {
	found := re.FindAllSubmatchIndex(text, 1000)
	group := func(i int) []byte {
		if found[i][2] < 0 {
			return nil
		}
		return text[found[i][2]:found[i][3]]
	}
	switch len(found) {
	case 0:
		return 0, "", errNone
	case 1:
	default:
		return 0, "", fmt.Errorf("matches %d times, first with %q, then with %q; make it match once, as with (?m)^",
			len(found), excerpt(group(0), 40), excerpt(group(1), 40))
	}
	word := bytes.TrimSpace(group(0))
	if v, err = number(string(word)); err != nil {
		return 0, "", err
	}
	from := found[0][2] + bytes.Index(group(0), word)
	to := from + len(word)
	if found[0][1] == to {
		behind = unit(text[to:])
	}
	return v, behind, around.whole(text, from, to)
}

func fromJSON(path *jsonpath.Path, text []byte) (float64, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return 0, errNone
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return 0, fmt.Errorf("stdout is not JSON (%w); it begins %q", err, screen.Clean(excerpt(bytes.TrimSpace(text), 80)))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		rest := bytes.TrimSpace(text[dec.InputOffset():])
		return 0, fmt.Errorf("stdout goes on after the JSON value: %q; it should be one value",
			screen.Clean(excerpt(rest, 80)))
	}
	nodes := path.Select(doc)
	switch len(nodes) {
	case 0:
		return 0, errNone
	case 1:
	default:
		return 0, fmt.Errorf("selects %d values; it should select one", len(nodes))
	}
	switch v := nodes[0].(type) {
	case float64:
		return v, nil
	case string:
		return 0, fmt.Errorf("found the text %q, not a number", screen.Clean(excerpt([]byte(v), 40)))
	case nil:
		return 0, errors.New("found null, not a number")
	case bool:
		return 0, fmt.Errorf("found %v, not a number", v)
	case []any:
		return 0, errors.New("found an array, not a number")
	}
	return 0, errors.New("found an object, not a number")
}
