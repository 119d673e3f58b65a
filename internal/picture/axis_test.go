package picture

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"hostlab/internal/result"
)

// value reads what a tick's text says, in the axis' unit.
func value(t *testing.T, a *Axis, text, title string) float64 {
	t.Helper()
	n, step, _ := strings.Cut(text, " ")
	one := map[string]float64{"%": 0.01, "": 1}[step]
	if a.Unit == "%" {
		one = 1
	}
	if a.Unit == Span {
		for name, s := range map[string]float64{"(s)": 1, "(min)": minute, "(h)": hour, "(days)": day} {
			if strings.HasSuffix(title, name) {
				one = s
			}
		}
	} else if i := strings.LastIndexByte(title, '('); i >= 0 && step == "" {
		step = strings.TrimSuffix(title[i+1:], ")")
	}
	if step != "" && step != "%" {
		for v := 1e-12; v < 1e21; v *= 1.5 { // the step of that name
			if o, name := result.Step(v, a.Unit); name == step {
				one = o
				break
			}
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimPrefix(n, "+"), "x"), 64)
	if err != nil || one == 0 {
		t.Errorf("%q of %q says no number", text, title)
	}
	return v * one
}

// A tick's text is the value at its place, no two ticks say the same, and there are enough of them to read values.
func TestTicksAreTrue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, unit := range []string{"", "s", "Hz", "B", "B/s", "1/s", "ratio", "%", Share, Gain, Span} {
		for range 3000 {
			lo := math.Pow(10, rng.Float64()*12-6)
			hi := lo * (1 + math.Pow(10, rng.Float64()*6-3))
			a := &Axis{Name: "what", Unit: unit, Lo: lo, Hi: hi, Log: rng.IntN(2) == 0 && unit != Span}
			if !a.Log && rng.IntN(3) == 0 {
				a.Lo = -a.Lo
			}
			ticks, text, title := a.marks()
			if len(ticks) < 3 || len(ticks) > 19 {
				t.Fatalf("%+v: %d ticks", *a, len(ticks))
			}
			seen := map[string]bool{}
			for _, v := range ticks {
				said := text(v)
				if seen[said] {
					t.Fatalf("%+v: %q twice", *a, said)
				}
				seen[said] = true
				if got := value(t, a, said, title); math.Abs(got-v) > 1e-6*(hi-lo) || v < a.Lo-1e-6*(hi-lo) || v > hi+1e-6*(hi-lo) {
					t.Fatalf("%+v: %q (%s) stands at %g", *a, said, title, v)
				}
			}
		}
	}
}

// Values that differ in the last digit of a float alone, and ranges without logarithms, have a handful of ticks.
func TestTicksEnd(t *testing.T) {
	for _, v := range []float64{0.3, -0.3, 1, 1e300, 1.8e9} {
		near := math.Nextafter(math.Nextafter(v, math.Inf(1)), math.Inf(1))
		for _, a := range []*Axis{Around("x", "s", v, near), {Unit: "ratio", Lo: v, Hi: near}, {Unit: Date, Lo: v, Hi: near},
			{Lo: v, Hi: near, Log: true}, {Hi: math.Abs(v), Log: true}, {Lo: -1, Hi: math.Abs(v), Log: true}} {
			if ticks, _, _ := a.marks(); len(ticks) > mostTicks {
				t.Errorf("%+v: %d ticks", *a, len(ticks))
			}
		}
		if a := Around("x", "s", v, near); !(a.Lo < v && near < a.Hi) || !apart(a.Lo, a.Hi) {
			t.Errorf("around %g: %+v", v, *a)
		}
	}
}

func TestTickTexts(t *testing.T) {
	for _, c := range []struct {
		axis  Axis
		texts string
		title string
	}{
		{Axis{Name: "answer", Unit: "ratio", Lo: 0.97, Hi: 1.08}, "0.98x 1x 1.02x 1.04x 1.06x 1.08x", "answer"},
		{Axis{Name: "transactions", Unit: "1/s", Hi: 1600}, "0 500 1000 1500", "transactions (/s)"},
		{Axis{Name: "CPUs busy", Hi: 2}, "0 0.5 1 1.5 2", "CPUs busy"},
		{Axis{Name: "answer", Unit: "ratio", Lo: 0.97, Hi: 1.09}, "0.975x 1x 1.025x 1.05x 1.075x", "answer"},
		{Axis{Name: "time", Unit: "s", Lo: 0.001, Hi: 0.004}, "1 1.5 2 2.5 3 3.5 4", "time (ms)"},
		{Axis{Name: "memory", Unit: "B", Hi: 3 << 30}, "0 0.5 1 1.5 2 2.5 3", "memory (GiB)"},
		{Axis{Name: "effect", Unit: Gain, Lo: -0.1, Hi: 0.1}, "-10 % | -5 % | 0 % | +5 % | +10 %", "effect"},
		{Axis{Name: "share", Unit: Share, Hi: 1}, "0 % | 20 % | 40 % | 60 % | 80 % | 100 %", "share"},
		{Axis{Name: "since", Unit: Span, Hi: 60}, "0 10 20 30 40 50 60", "since (s)"},
		{Axis{Name: "since", Unit: Span, Hi: 5400}, "0 15 30 45 60 75 90", "since (min)"},
		{Axis{Name: "since", Unit: Span, Hi: 86400}, "0 3 6 9 12 15 18 21 24", "since (h)"},
		{Axis{Name: "time", Unit: "s", Lo: 1e-5, Hi: 0.1, Log: true},
			"10 us | 100 us | 1 ms | 10 ms | 100 ms", "time, logarithmic"},
		{Axis{Name: "answer", Unit: "ratio", Lo: 0.97, Hi: 1.09}, "0.975x 1x 1.025x 1.05x 1.075x", "answer"},
		{Axis{Name: "time", Unit: "s", Lo: 0.0015, Hi: 0.015, Log: true}, "2 ms | 5 ms | 10 ms", "time, logarithmic"},
		{Axis{Name: "day", Unit: Date, Lo: 1795996800, Hi: 1795996800 + 20*day},
			"30 Nov | 3 Dec | 6 Dec | 9 Dec | 12 Dec | 15 Dec | 18 Dec", "day"},
		{Axis{Name: "hour", Unit: Date, Lo: 1795996800, Hi: 1795996800 + 20*hour},
			"00:00 | 03:00 | 06:00 | 09:00 | 12:00 | 15:00 | 18:00", "hour"},
	} {
		ticks, text, title := c.axis.marks()
		var texts []string
		for _, v := range ticks {
			texts = append(texts, text(v))
		}
		between := " "
		if strings.Contains(c.texts, "|") {
			between = " | "
		}
		if got := strings.Join(texts, between); got != c.texts || title != c.title {
			t.Errorf("%+v: %s (%s)\nwant %s (%s)", c.axis, got, title, c.texts, c.title)
		}
	}
}

// Every value stands within the picture, and labels of ticks do not touch.
func TestPlotKeepsLabelsApart(t *testing.T) {
	for _, a := range []*Axis{{Name: strings.Repeat("a long name ", 9), Unit: "B", Lo: 1, Hi: 1e15, Log: true},
		{Name: "", Unit: "ratio", Lo: 1000.001, Hi: 1000.002}, {Unit: Date, Lo: 0, Hi: 40 * hour}} {
		p := NewPlot("x", Width, 100, []string{"one", strings.Repeat("another ", 20)}, a, Around("y", "s", 1e-9, 1e9))
		if p.Left > Width/2 || p.Right > Width || p.Bottom > p.H || p.Top < 20 {
			t.Errorf("%+v: field %v to %v, %v to %v of %v", *a, p.Left, p.Right, p.Top, p.Bottom, p.H)
		}
		if x := p.X.At(a.Hi * 2); x > p.Right || math.IsNaN(x) {
			t.Errorf("beyond the axis is %v", x)
		}
	}
}
