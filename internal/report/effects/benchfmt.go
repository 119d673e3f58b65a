package effects

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"hostlab/internal/lazyre"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// WriteBenchfmt writes the runs that count in the Go benchmark format, a line each,
// with each factor as a part of the name, so that `benchstat -col /FACTOR FILE`
// compares its levels. Seconds become ns, which
// benchstat shows as sec again; the first primary time is ns/op, other responses
// have their name before the unit.
func WriteBenchfmt(w io.Writer, s *Set) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	out := benchfmt.NewWriter(buffered)
	for i := range s.Reports {
		if err := benchRuns(out, &s.Reports[i]); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

func benchRuns(out *benchfmt.Writer, r *Report) error {
	x := r.head()
	units := benchUnits(x.Responses)
	for i, resp := range x.Responses {
		if resp.Better != "lower" && resp.Better != "higher" {
			continue
		}
		m := &benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: units[i].name, Key: "better"},
			OrigUnit: units[i].name, Value: resp.Better}
		if err := out.Write(m); err != nil {
			return err
		}
	}
	config := benchConfig(r)
	byCell := make([][]int, len(x.Cells))
	for j := range r.Runs {
		if run := &r.Runs[j]; run.Status == result.OK && run.Cell >= 0 && run.Cell < len(x.Cells) && run.Block < x.Planned() {
			byCell[run.Cell] = append(byCell[run.Cell], j)
		}
	}
	for _, c := range benchOrder(x) {
		line := benchfmt.Result{Name: benchName(x, &x.Cells[c]), Iters: 1, Config: config}
		for _, j := range byCell[c] {
			line.Values = line.Values[:0]
			for i, resp := range x.Responses {
				if v, ok := r.Runs[j].Values[resp.Name]; ok && !math.IsInf(v*units[i].scale, 0) {
					line.Values = append(line.Values, benchfmt.Value{Value: v * units[i].scale, Unit: units[i].name})
				}
			}
			if len(line.Values) == 0 {
				continue
			}
			if err := out.Write(&line); err != nil {
				return err
			}
		}
	}
	return nil
}

// benchOrder lists cells as benchstat is to show them, which takes the first level
// that it reads for the one to compare with: baselines first.
func benchOrder(x *result.Experiment) []int {
	order := make([]int, len(x.Cells))
	for i := range order {
		order[i] = i
	}
	rank := func(c *result.Cell) (n int) {
		for _, f := range x.Factors {
			if c.Levels[f.Name] != f.Baseline {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank(&x.Cells[a]) - rank(&x.Cells[b]) })
	return order
}

// benchConfig says what ran where. Values that differ between experiments make
// benchstat show tables of their own.
func benchConfig(r *Report) []benchfmt.Config {
	x := r.head()
	var out []benchfmt.Config
	add := func(key, value string) {
		value = strings.TrimSpace(screen.Clean(value))
		if value != "" {
			out = append(out, benchfmt.Config{Key: key, Value: []byte(value), File: true})
		}
	}
	add("experiment", x.Name)
	add("hostlab", x.Version)
	add("workload", x.Workload)
	add("evidence", string(x.Evidence))
	for _, k := range []string{"hostname", "kernel", "cpu"} {
		add(k, x.Host[k])
	}
	return out
}

// benchUnit is a response's unit as the format has it.
type benchUnit struct {
	name  string
	scale float64 // of the base unit
}

func benchUnits(responses []result.Response) []benchUnit {
	first := slices.IndexFunc(responses, func(r result.Response) bool { return r.Unit == "s" && r.Primary })
	out := make([]benchUnit, len(responses))
	for i, r := range responses {
		name := word(r.Name)
		switch {
		case i == first:
			out[i] = benchUnit{"ns/op", 1e9}
		case r.Unit == "s":
			out[i] = benchUnit{name + "-ns", 1e9}
		case r.Unit == "1/s":
			out[i] = benchUnit{name + "/s", 1}
		case r.Unit == "":
			out[i] = benchUnit{name, 1}
		default:
			out[i] = benchUnit{name + "-" + word(r.Unit), 1}
		}
	}
	return out
}

var ending = lazyre.New(`-\d+$`)

// benchName is the name of a cell's lines: "Gzip/level=6". The format takes a number
// after a last hyphen for GOMAXPROCS, and a slash for the next part.
func benchName(x *result.Experiment, c *result.Cell) benchfmt.Name {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(x.Name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		first := []rune(part)
		b.WriteString(string(unicode.ToUpper(first[0])) + string(first[1:]))
	}
	if b.Len() == 0 {
		b.WriteString("Experiment")
	}
	for _, f := range x.Factors {
		level := word(c.Levels[f.Name])
		if n := ending.FindStringIndex(level); n != nil {
			level = level[:n[0]] + "%2D" + level[n[0]+1:]
		}
		fmt.Fprintf(&b, "/%s=%s", word(f.Name), level)
	}
	return benchfmt.Name(b.String())
}

// word makes one part of a name of any text; what would end it goes in percent.
func word(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r <= ' ' || r == '/' || r == '%' || r == '=' || r == '"' || !unicode.IsPrint(r) {
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
			continue
		}
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return "%20"
	}
	return b.String()
}
