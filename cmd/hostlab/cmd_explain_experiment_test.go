package main

import (
	"strings"
	"testing"

	"hostlab/internal/explain"
)

// A measured gain stands beside its own lever only; the others say why they have none.
func TestMeasure(t *testing.T) {
	gain := &explain.Gain{Value: 0.1, N: 12, Evidence: "measured"}
	for _, gains := range []map[string]*explain.Gain{nil, {explain.LogDevice: gain}} {
		r := explain.Report{Bounds: []explain.Bound{{Lever: explain.LogDevice}, {Lever: explain.Processor}}}
		measure(&r, gains)
		if r.Bounds[0].Gain != gains[explain.LogDevice] || (r.Bounds[0].Gain == nil) != (r.Bounds[0].Unmeasured != "") || r.Bounds[1].Gain != nil || r.Bounds[1].Unmeasured == "" || strings.Contains(r.Bounds[1].Unmeasured, "log-device") {
			t.Errorf("%+v", r.Bounds)
		}
	}
}
