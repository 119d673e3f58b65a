package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// DistKind names a distribution.
type DistKind string

const (
	DistFixed       DistKind = "fixed"
	DistExponential DistKind = "exp"
	DistLognormal   DistKind = "lognormal" // Mean and CV
	DistErlang      DistKind = "erlang"    // CV is rounded to 1/sqrt(k)
	DistUniform     DistKind = "uniform"   // Mean and CV, at most 1/sqrt(3)
	DistEmpirical   DistKind = "empirical" // drawn from Values
)

// Dist is a distribution of times in seconds. The zero value is always 0. As text
// (in workload files): "60ms", "exp 60ms", "lognormal 60ms cv 0.5",
// "erlang 60ms cv 0.5", "uniform 60ms cv 0.2", "values 55ms 60ms 71ms".
type Dist struct {
	Kind   DistKind
	Mean   float64   // s; of Values when empirical
	CV     float64   // standard deviation / mean
	Values []float64 // s, empirical only
}

// MarshalJSON sums a distribution up: values of a record are many. The zero value is null.
func (d Dist) MarshalJSON() ([]byte, error) {
	if d.IsZero() {
		return []byte("null"), nil
	}
	kind := cmp.Or(d.Kind, DistFixed)
	return json.Marshal(struct {
		Kind   DistKind `json:"kind"`
		Mean   float64  `json:"mean"`
		CV     float64  `json:"cv,omitempty"`
		Values int      `json:"values,omitempty"` // how many
	}{kind, d.Mean, d.CV, len(d.Values)})
}

// units of text values, longest suffix first where one ends in another.
var units = []struct {
	suffix string
	factor float64
	kind   string
}{
	{"ns", 1e-9, "s"}, {"us", 1e-6, "s"}, {"µs", 1e-6, "s"}, {"ms", 1e-3, "s"},
	{"GHz", 1e9, "Hz"}, {"MHz", 1e6, "Hz"}, {"kHz", 1e3, "Hz"}, {"Hz", 1, "Hz"},
	{"%", 0.01, ""}, {"s", 1, "s"},
}

// parseQuantity reads a number with a unit into base units: "15ms" with unit s.
// A bare number is in the base unit itself, except that a time needs its unit
// (0 does not): 15 is too easily meant as milliseconds.
func parseQuantity(text, unit string) (float64, error) {
	number, factor := text, 1.0
	for _, u := range units {
		if n, ok := strings.CutSuffix(text, u.suffix); ok {
			if u.kind != unit {
				return 0, fmt.Errorf("%q is in %s", text, u.suffix)
			}
			number, factor = n, u.factor
			break
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%q is not a number with a unit, like 15ms", text)
	case number == text && unit == "s" && v != 0:
		return 0, fmt.Errorf("%q has no unit; write %sms or %ss", text, text, text)
	}
	return v * factor, nil
}

// ParseDist reads the text forms that Dist documents.
func ParseDist(text string) (Dist, error) {
	const forms = `write "60ms", "exp 60ms", "lognormal 60ms cv 0.5", "erlang 60ms cv 0.5", "uniform 60ms cv 0.2" or "values 55ms 60ms"`
	f := strings.Fields(text)
	if len(f) == 0 {
		return Dist{}, fmt.Errorf("an empty distribution; %s", forms)
	}
	d := Dist{Kind: DistFixed}
	switch k := DistKind(f[0]); k {
	case DistFixed, DistExponential, DistLognormal, DistErlang, DistUniform:
		d.Kind, f = k, f[1:]
	case DistEmpirical, "values":
		d.Kind = DistEmpirical
		for _, x := range f[1:] {
			v, err := parseQuantity(x, "s")
			if err != nil {
				return Dist{}, err
			}
			d.Values = append(d.Values, v)
			d.Mean += v / float64(len(f)-1)
		}
		return d, d.validate(text, false)
	}
	if len(f) != 1 && (len(f) != 3 || f[1] != "cv") {
		return Dist{}, fmt.Errorf("%q is not a distribution; %s", text, forms)
	}
	v, err := parseQuantity(f[0], "s")
	if err != nil {
		return Dist{}, fmt.Errorf("%w; %s", err, forms)
	}
	d.Mean = v
	if len(f) == 3 {
		if d.CV, err = strconv.ParseFloat(f[2], 64); err != nil {
			return Dist{}, fmt.Errorf("cv %q in %q is not a number", f[2], text)
		}
	}
	return d, d.validate(text, false)
}

// String is a form that ParseDist reads.
func (d Dist) String() string {
	second := func(v float64) string {
		if v > 0 && v < 1 {
			return strconv.FormatFloat(v*1e3, 'g', 6, 64) + "ms"
		}
		return strconv.FormatFloat(v, 'g', 6, 64) + "s"
	}
	switch d.Kind {
	case "", DistFixed:
		return second(d.Mean)
	case DistExponential:
		return "exp " + second(d.Mean)
	case DistEmpirical:
		s := []string{"values"}
		for _, v := range d.Values {
			s = append(s, second(v))
		}
		return strings.Join(s, " ")
	}
	return fmt.Sprintf("%s %s cv %g", d.Kind, second(d.Mean), d.CV)
}

// UnmarshalText reads the forms of ParseDist.
func (d *Dist) UnmarshalText(b []byte) error {
	v, err := ParseDist(string(b))
	if err == nil {
		*d = v
	}
	return err
}

// MarshalText writes a form that ParseDist reads.
func (d Dist) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// IsZero reports whether the time is always 0.
func (d Dist) IsZero() bool { return d.Mean == 0 }

// Scaled returns the distribution with all times multiplied by k.
func (d Dist) Scaled(k float64) Dist {
	d.Mean *= k
	if d.Values != nil {
		v := make([]float64, len(d.Values))
		for i := range v {
			v[i] = d.Values[i] * k
		}
		d.Values = v
	}
	return d
}

// longest is the longest time that makes sense anywhere: a day.
const longest = 86400

// validate names key. positive refuses a mean of zero.
func (d Dist) validate(key string, positive bool) error {
	switch d.Kind {
	case "", DistFixed, DistExponential, DistLognormal, DistErlang, DistUniform:
	case DistEmpirical:
		if len(d.Values) == 0 {
			return fmt.Errorf("%s: a list of values needs at least one", key)
		}
		for _, v := range d.Values {
			if !(v >= 0 && v <= longest) {
				return fmt.Errorf("%s: the value %g s must be 0 to %d s", key, v, longest)
			}
		}
	default:
		return fmt.Errorf("%s: no distribution is called %q", key, d.Kind)
	}
	switch {
	case !(d.Mean >= 0 && d.Mean <= longest):
		return fmt.Errorf("%s: the mean is %g s; it must be 0 to %d s", key, d.Mean, longest)
	case positive && d.Mean < 1e-6:
		return fmt.Errorf("%s: the mean is %g s; it must be at least 1 us", key, d.Mean)
	case !(d.CV >= 0 && d.CV <= 20):
		return fmt.Errorf("%s: cv is %g; it must be 0 to 20", key, d.CV)
	case d.Kind == DistErlang && (d.CV > 1 || d.CV > 0 && d.CV < 0.05):
		return fmt.Errorf("%s: cv is %g; an erlang distribution's is 0.05 to 1", key, d.CV)
	case d.Kind == DistUniform && d.CV > 1/math.Sqrt(3):
		return fmt.Errorf("%s: cv is %g; a uniform distribution's is at most 0.577", key, d.CV)
	}
	return nil
}

// sampler draws from a distribution in nanoseconds.
type sampler struct {
	kind   DistKind
	mean   float64 // ns
	a, b   float64
	k      int
	values []float64 // s
}

func (d Dist) sampler() sampler {
	s := sampler{kind: d.Kind, mean: d.Mean * 1e9, values: d.Values}
	switch {
	case d.Mean == 0 || d.CV == 0 && (d.Kind == DistLognormal || d.Kind == DistErlang || d.Kind == DistUniform):
		s.kind = DistFixed
	case d.Kind == DistLognormal:
		s.b = math.Sqrt(math.Log(1 + d.CV*d.CV))
		s.a = math.Log(s.mean) - s.b*s.b/2
	case d.Kind == DistErlang:
		s.k = max(1, int(math.Round(1/(d.CV*d.CV))))
	case d.Kind == DistUniform:
		s.a = s.mean * d.CV * math.Sqrt(3)
	}
	return s
}

func (s *sampler) draw(r *rand.Rand) float64 {
	switch s.kind {
	case DistExponential:
		return s.mean * r.ExpFloat64()
	case DistLognormal:
		return math.Exp(s.a + s.b*r.NormFloat64())
	case DistErlang:
		sum := 0.0
		for range s.k {
			sum += r.ExpFloat64()
		}
		return s.mean * sum / float64(s.k)
	case DistUniform:
		return s.mean + s.a*(2*r.Float64()-1)
	case DistEmpirical:
		return s.values[r.IntN(len(s.values))] * 1e9
	}
	return s.mean
}
