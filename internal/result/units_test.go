package result

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{0.001234, "s", "1.23 ms"},
		{0.0009999, "s", "1.00 ms"},
		{0.000999, "s", "999 us"},
		{-0.0025, "s", "-2.50 ms"},
		{12.34, "s", "12.3 s"},
		{4321, "s", "4321 s"},
		{1e-6, "s", "1.00 us"},
		{1e300, "s", "1e+300 s"},
		{1e300, "ratio", "1e+300x"},
		{-1e308, "B", "-8.67e+289 EiB"},
		{3.2e-10, "s", "0.32 ns"},
		{0, "s", "0 s"},
		{2.4e9, "Hz", "2.40 GHz"},
		{999.6e6, "Hz", "1.00 GHz"},
		{800e6, "Hz", "800 MHz"},
		{0, "Hz", "0 Hz"},
		{64 << 20, "B", "64 MiB"},
		{1 << 10, "B", "1 KiB"},
		{1023, "B", "1023 B"},
		{1536, "B", "1.50 KiB"},
		{48 << 10, "B", "48 KiB"},
		{1.5 * (1 << 40), "B", "1.50 TiB"},
		{0, "B", "0 B"},
		{54500, "1/s", "54.5 k/s"},
		{386e6, "1/s", "386 M/s"},
		{0.5, "1/s", "0.5 /s"},
		{1.034, "ratio", "1.03x"},
		{0.8, "ratio", "0.80x"},
		{0.0123, "ratio", "0.0123x"},
		{123.4, "ratio", "123x"},
		{1, "ratio", "1.00x"},
		{51.2, "%", "51.2 %"},
		{100, "%", "100 %"},
		{0.25, "", "0.25"},
		{1048576, "", "1048576"},
		{1.25, "pages", "1.25 pages"},
		{math.NaN(), "s", "unknown"},
		{math.Inf(1), "s", "infinite"},
		{math.Inf(-1), "ratio", "-infinite"},
	} {
		testkit.Is(t, c.want, Format(c.v, c.unit), "Format", c.v, c.unit, ") =")
	}
}

// The number shown, times the step it is shown in, is the value to within the
// three digits shown.
func TestFormatKeepsTheValue(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"s", "Hz", "B", "1/s", "B/s"}).Draw(t, "unit")
		steps := scales[unit]
		low, high := steps[len(steps)-1].one, 999*steps[0].one
		v := math.Exp(rapid.Float64Range(math.Log(low), math.Log(high)).Draw(t, "log"))
		number, name, _ := strings.Cut(Format(v, unit), " ")
		x := testkit.Must(strconv.ParseFloat(number, 64))(t)
		for _, s := range steps {
			if s.name == name {
				if got := x * s.one; math.Abs(got-v) > 0.00501*v {
					t.Fatalf("%v %s is shown as %s %s", v, unit, number, name)
				}
				return
			}
		}
		t.Fatalf("no step %q of %s", name, unit)
	})
}

// A share that is neither nothing nor all is never written as either.
func TestPercent(t *testing.T) {
	for _, c := range []struct {
		share  float64
		digits int
		want   string
	}{
		{0, 0, "0 %"}, {1, 0, "100 %"}, {0.42, 0, "42 %"}, {0.994, 0, "99 %"}, {0.996, 0, "99.6 %"}, {0.99997, 0, "99.997 %"}, {0.004, 0, "0.4 %"}, {0.00312, 0, "0.31 %"},
		{0.125, 1, "12.5 %"}, {0.5, 1, "50 %"}, {0.9997, 1, "99.97 %"}, {0.00001, 1, "0.001 %"}, {1.37, 0, "137 %"},
	} {
		testkit.Is(t, c.want, Percent(c.share, c.digits), "Percent", c.share, c.digits, ") =")
	}
}

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

func TestPlace(t *testing.T) {
	x := &Experiment{Places: []Place{{Factor: "log", Level: "slow", Emulated: true}, {Factor: "log", Level: "memory", Volatile: true}, {Factor: "log", Level: "disk"}}}
	for level, want := range map[string][2]bool{"slow": {true, false}, "memory": {false, true}, "disk": {}, "other": {}} {
		if p := x.Place("log", level); [2]bool{p.Emulated, p.Volatile} != want {
			t.Errorf("%s: %+v", level, p)
		}
	}
}
