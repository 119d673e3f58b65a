package model

import "encoding/json"

// DistKind names a distribution.
type DistKind string

// The distributions.
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
	kind := d.Kind
	if kind == "" {
		kind = DistFixed
	}
	return json.Marshal(struct {
		Kind   DistKind `json:"kind"`
		Mean   float64  `json:"mean"`
		CV     float64  `json:"cv,omitempty"`
		Values int      `json:"values,omitempty"` // how many
	}{kind, d.Mean, d.CV, len(d.Values)})
}
