package result

import (
	"encoding/json"
	"math"
)

// Finite is x for a JSON document, which has neither NaN nor infinities: nil, that
// is null, where x is one of them.
func Finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Number is null in JSON where it is not known (NaN) or infinite.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) { return json.Marshal(Finite(float64(n))) }

// OrEmpty is s for a JSON document: a list without elements is [] and not null.
func OrEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
