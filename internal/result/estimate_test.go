package result

import (
	"encoding/json"
	"math"
	"testing"

	"hostlab/internal/testkit"
)

func TestEstimate(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		e          Estimate
		text, json string
	}{
		{Estimate{1.7412, 1.72, 1.751, 10, "ratio", ""}, "1.74x [1.72, 1.75], n 10", `{"value":1.7412,"low":1.72,"high":1.751,"n":10,"unit":"ratio"}`},
		{Estimate{0.00123, 0.0012, 0.00125, 4, "s", Measured}, "1.23 ms [1.20, 1.25], n 4", `{"value":0.00123,"low":0.0012,"high":0.00125,"n":4,"unit":"s","evidence":"measured"}`},
		{Estimate{0.001, 0.00098, 0.00102, 4, "s", ""}, "1.00 ms [980 us, 1.02 ms], n 4", `{"value":0.001,"low":0.00098,"high":0.00102,"n":4,"unit":"s"}`},
		{Estimate{0.25, 0.2, 0.3, 0, "", ""}, "0.25 [0.2, 0.3]", `{"value":0.25,"low":0.2,"high":0.3,"n":0}`},
		{Estimate{0.253, 0.2, 0.3, 7, "", ""}.Percent(), "25.3 % [20, 30], n 7", `{"value":25.3,"low":20,"high":30,"n":7,"unit":"%"}`},
		{Estimate{0.12, 0.1, 0.14, 12, "", Emulated}.Percent(), "12 % [10, 14], n 12", `{"value":12,"low":10,"high":14.000000000000002,"n":12,"unit":"%","evidence":"emulated"}`},
		{Estimate{2, nan, nan, 1, "s", ""}, "2.00 s, n 1", `{"value":2,"low":null,"high":null,"n":1,"unit":"s"}`},
		{Estimate{math.Inf(1), 0.5, math.Inf(1), 32, "s", ""}, "infinite [500 ms, infinite], n 32", `{"value":null,"low":0.5,"high":null,"n":32,"unit":"s"}`},
		{Unknown(), "unknown", "null"},
		{Estimate{}, "unknown", "null"},
	} {
		testkit.Is(t, c.text, c.e.String(), c.e)
		data, err := json.Marshal(c.e)
		if err != nil || string(data) != c.json {
			t.Errorf("%#v is %s (%v), want %s", c.e, data, err, c.json)
		}
		var back Estimate
		if err := json.Unmarshal(data, &back); err != nil || back.Known() != (c.e.Known() && !math.IsInf(c.e.Value, 0)) || back.N != c.e.N {
			t.Errorf("%s is read back as %#v (%v)", data, back, err)
		}
	}
}
