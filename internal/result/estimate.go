package result

import (
	"encoding/json"
	"fmt"
	"math"
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
