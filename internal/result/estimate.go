package result

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Estimate is a value with its two-sided confidence interval. The zero Estimate is unknown.
type Estimate struct {
	Value float64 `json:"value"` // in Unit; NaN: unknown
	Low   float64 `json:"low"`   // NaN where no interval can be given
	High  float64 `json:"high"`
	// blocks, rounds, replications or operations: whatever the interval counts
	N int `json:"n"`
	// as Format takes it; "" also where what holds the estimate names the unit
	Unit     string   `json:"unit,omitempty"`
	Evidence Evidence `json:"evidence,omitempty"` // "" where what holds the estimate names it
}

// Unknown returns an estimate without a value.
func Unknown() Estimate { return Estimate{Value: math.NaN(), Low: math.NaN(), High: math.NaN()} }

// Map returns the estimate on another scale. f rises or falls throughout.
func (e Estimate) Map(f func(float64) float64) Estimate {
	if e.Value, e.Low, e.High = f(e.Value), f(e.Low), f(e.High); e.Low > e.High {
		e.Low, e.High = e.High, e.Low
	}
	return e
}

// Negated returns the estimate of the opposite: of a gain, where e is of a cost.
func (e Estimate) Negated() Estimate { return e.Map(func(v float64) float64 { return -v }) }

// Known reports whether there is a value; an infinite one is known.
func (e Estimate) Known() bool { return !math.IsNaN(e.Value) && e != Estimate{} }

// HasInterval reports whether both bounds are known.
func (e Estimate) HasInterval() bool { return !math.IsNaN(e.Low) && !math.IsNaN(e.High) }

// Contains reports whether v lies in the interval; false without one.
func (e Estimate) Contains(v float64) bool { return e.HasInterval() && e.Low <= v && v <= e.High }

// Percent returns a share of 1 as one of 100 %.
func (e Estimate) Percent() Estimate {
	e.Unit = "%"
	return e.Map(func(v float64) float64 { return 100 * v })
}

// String returns the estimate as in "1.74x [1.72, 1.75], n 10".
func (e Estimate) String() string {
	if !e.Known() || e.N == 0 {
		return e.Brief()
	}
	return fmt.Sprintf("%s, n %d", e.Brief(), e.N)
}

// Brief returns value and interval, as in "1.74x [1.72, 1.75]".
func (e Estimate) Brief() string { return strings.TrimSpace(e.Text() + " " + e.Interval()) }

// Text returns the value, as in "1.74x".
func (e Estimate) Text() string {
	if !e.Known() {
		return "unknown"
	}
	return Format(e.Value, e.Unit)
}

// Interval returns the bounds without a unit that all three figures share, as in
// "[1.72, 1.75]" and "[980 us, 1.02 ms]"; "" where there is no interval.
func (e Estimate) Interval() string {
	if !e.Known() || !e.HasInterval() {
		return ""
	}
	if e.Unit == "ratio" {
		return "[" + fixed(e.Low) + ", " + fixed(e.High) + "]"
	}
	low, high := Format(e.Low, e.Unit), Format(e.High, e.Unit)
	if _, unit, ok := strings.Cut(e.Text(), " "); ok {
		l, okLow := strings.CutSuffix(low, " "+unit)
		h, okHigh := strings.CutSuffix(high, " "+unit)
		if okLow && okHigh {
			low, high = l, h
		}
	}
	return "[" + low + ", " + high + "]"
}

// plainEstimate is one without methods.
type plainEstimate Estimate

// MarshalJSON writes null for what is unknown.
func (e Estimate) MarshalJSON() ([]byte, error) {
	if !e.Known() {
		return []byte("null"), nil
	}
	return JSON(plainEstimate(e))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Estimate) UnmarshalJSON(data []byte) error {
	p := plainEstimate(Unknown()) // which null leaves as it is
	err := json.Unmarshal(data, &p)
	*e = Estimate(p)
	return err
}

// scale is one step of a unit: values of at least One (in the base unit) are
// shown in it.
type scale struct {
	one  float64
	name string
}

// The steps of each base unit, largest first.
var scales = map[string][]scale{
	"s":  {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}},
	"Hz": {{1e9, "GHz"}, {1e6, "MHz"}, {1e3, "kHz"}, {1, "Hz"}},
	"B": {{1 << 60, "EiB"}, {1 << 50, "PiB"}, {1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"},
		{1, "B"}},
	"1/s": {{1e9, "G/s"}, {1e6, "M/s"}, {1e3, "k/s"}, {1, "/s"}},
	"B/s": {{1 << 30, "GiB/s"}, {1 << 20, "MiB/s"}, {1 << 10, "KiB/s"}, {1, "B/s"}},
}

// Format writes a value in a base unit for people: three significant digits and
// the unit's step that keeps the number between 1 and 1000 (1024 for bytes), as
// in "1.23 ms", "2.40 GHz", "64 MiB". A ratio becomes "1.03x" and a share in %
// "12.5 %". Whole bytes and values without a unit are written in full where
// they have no fraction. What is not a number is "unknown".
func Format(v float64, unit string) string {
	if math.IsNaN(v) {
		return "unknown"
	}
	if math.IsInf(v, 0) {
		return map[bool]string{true: "infinite", false: "-infinite"}[v > 0]
	}
	switch unit {
	case "ratio":
		return fixed(v) + "x"
	case "":
		return plain(v)
	}
	steps, ok := scales[unit]
	if !ok {
		return plain(v) + " " + unit
	}
	if v == 0 {
		if unit == "s" {
			return "0 s"
		}
		return "0 " + steps[len(steps)-1].name
	}
	for i, s := range steps {
		last := i == len(steps)-1
		x := v / s.one
		// What rounds up to the next step belongs there: 999.9 us is 1.00 ms.
		if a := roundTo3(math.Abs(x)); a < 1 && !last {
			continue
		}
		if unit == "B" || unit == "B/s" {
			return binary(x) + " " + s.name
		}
		return digits3(x) + " " + s.name
	}
	return plain(v) + " " + unit
}

// Step is the step of a base unit in which people read a value: its size and its name. What has no steps is its own.
func Step(v float64, unit string) (one float64, name string) {
	for _, s := range scales[unit] {
		if one, name = s.one, s.name; roundTo3(math.Abs(v)/s.one) >= 1 {
			break
		}
	}
	if one == 0 {
		return 1, unit
	}
	return one, name
}

// roundTo3 rounds to three significant digits.
func roundTo3(x float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	return r
}

// digits3 writes three significant digits, with an exponent only where nobody counts zeros.
func digits3(x float64) string {
	a := roundTo3(math.Abs(x))
	switch {
	case a >= 1e15:
		return strconv.FormatFloat(x, 'g', 3, 64)
	case a >= 100 || a == 0:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// binary writes whole multiples without a fraction, since sizes are set so.
func binary(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return digits3(x)
}

// fixed writes two digits after the point, more for small ratios.
func fixed(x float64) string {
	if a := math.Abs(x); a >= 100 || a < 0.1 && a > 0 {
		return digits3(x)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

func plain(x float64) string {
	// A share times 100 may be off by the last bit: 14.000000000000002.
	if math.Abs(x-math.Round(x)) <= 1e-12*math.Abs(x) && math.Abs(x) <= 1<<53 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	if math.Abs(x) >= 1e6 {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	return digits3(x)
}

// Share writes a share of 1 of a whole as bars have it: two figures, and what is next to nothing
// as "<0.1 %".
func Share(v float64) string {
	switch p := 100 * v; {
	case p == 0:
		return "0 %"
	case p < 0.05:
		return "<0.1 %"
	case p < 9.95:
		return fmt.Sprintf("%.1f %%", p)
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// Percent writes a share of 1 in per cent with so many digits after the point at most, and
// with more where it takes them to differ from nothing and from all: "12.5 %", "99.97 %".
func Percent(share float64, digits int) string {
	if edge := min(share, 1-share); edge > 0 && edge < 0.5*math.Pow10(-2-digits) {
		digits = min(12, int(math.Ceil(-math.Log10(edge)))-1)
	}
	if math.Abs(share) >= 1e13 {
		return digits3(share*100) + " %"
	}
	text := strconv.FormatFloat(share*100, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text + " %"
}
