package watch_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
	"hostlab/internal/watch"
)

func wakes(after time.Duration) func(time.Duration, int) int {
	return func(since time.Duration, cpus int) int {
		return max(cpus/3, int(float64(cpus)*min(1, float64(since)/float64(after))))
	}
}

func TestAnalyzeMadeDays(t *testing.T) {
	day := Day{CPUs: 32, Interval: 5 * time.Second, Night: time.Hour, Load: 100 * time.Minute, Busy: 0.3}
	with := func(change func(*Day)) Day {
		d := day
		change(&d)
		return d
	}
	yes, no := true, false
	for _, c := range []struct {
		name    string
		day     Day
		verdict string
		slow    *bool
		waited  *bool
		says    string
	}{
		{"even", day, watch.Even, &no, &no, "as evenly as by chance"},
		{"parked cores that wake", with(func(d *Day) { d.Awake = wakes(12 * time.Minute); d.Waits = 0.4 }), watch.UnevenAtFirst, &no, &yes, "parked or in deep sleep"},
		{"cores that never wake", with(func(d *Day) { d.Awake = func(_ time.Duration, n int) int { return n / 2 } }), watch.UnevenAlways, &no, &no, "does not come from CPUs that wake slowly"},
		{"few sessions, bound", with(func(d *Day) { d.Sessions = 5 }), watch.UnevenAlways, &no, &no, "no more sessions were active"},
		{"few sessions that move", with(func(d *Day) { d.Sessions, d.Stay = 5, 5*time.Second }), watch.Even, &no, &no, "so few sessions"},
		{"slow at first", with(func(d *Day) {
			d.Clock = func(s time.Duration) float64 { return map[bool]float64{true: 0.6, false: 0.98}[s < 6*time.Minute] }
		}), watch.SlowAtFirst, &yes, &no, "slower than later"},
		{"ends early", with(func(d *Day) { d.Load = 6 * time.Minute; d.Awake = wakes(time.Hour) }), watch.Uneven, nil, &no, "ends too early"},
		{"no load", with(func(d *Day) { d.Load = 0 }), watch.UndecidedLoad, nil, nil, "no load of 10 %"},
		{"no night", with(func(d *Day) { d.Night = 0 }), watch.UndecidedQuiet, nil, nil, "no quiet time"},
		{"seconds", with(func(d *Day) { d.Interval, d.Night, d.Load = time.Second, 8*time.Second, 12*time.Second }), watch.UndecidedQuiet,
			nil, nil, "Not decided: the record lasts 20 s. It takes a quiet time of 10 min"},
		{"seconds of load", with(func(d *Day) { d.Load = 30 * time.Second }), watch.UndecidedShort, nil, nil, "the record ends too soon"},
		{"cloud guest", with(func(d *Day) { d.Bare = true; d.CPUs = 2 }), watch.Even, nil, nil, "no frequency of a busy CPU"},
		{"one CPU", with(func(d *Day) { d.CPUs = 1; d.Interval = 10 * time.Second }), watch.UndecidedShort, nil, &no, "only one CPU"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := testkit.Must(watch.ReadRecord(bytes.NewReader(c.day.Write(7))))(t)
			a := watch.Analyze(r, watch.DefaultQuestion())
			var text bytes.Buffer
			testkit.OK(t, document.WriteText(&text, a.Document(), document.TextOptions{Width: 80, Color: false}))
			t.Log("\n" + text.String())
			testkit.Is(t, c.verdict, a.Verdict, "verdict")
			if c.verdict == watch.UndecidedShort {
				a.Unneeded, c.waited = nil, nil
			}
			if !same(a.Slow, c.slow) || !same(a.Unneeded, c.waited) {
				t.Errorf("slow %v, waited %v", show(a.Slow), show(a.Unneeded))
			}
			if flat := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(flat, c.says) {
				t.Errorf("expected %q", c.says)
			}
			testkit.Fits(t, text.String(), 80, nil)
			if a.Onset != nil {
				if off := a.Onset.Sub(r.Points[0].At.Add(c.day.Night - c.day.Interval)); off.Abs() > 10*time.Second {
					t.Errorf("load began %v off", off)
				}
			}
		})
	}
}

// The page draws the record, and text and page say what it holds where nothing is decided.
func TestPicturesOfARecord(t *testing.T) {
	for _, c := range []struct {
		day      Day
		pictures int
		says     string
	}{
		{Day{CPUs: 3, Interval: time.Second, Night: 8 * time.Second, Load: 12 * time.Second, Busy: 0.5}, 2, "In the whole record"},
		{Day{CPUs: 1, Interval: time.Second, Night: 8 * time.Second, Load: 12 * time.Second, Busy: 0.5, Bare: true}, 1, "In the whole record"},
		{Day{CPUs: 100, Interval: 5 * time.Second, Night: time.Hour, Load: time.Hour, Busy: 0.3}, 2, "The first 64 of 100 CPUs are drawn"},
	} {
		r := testkit.Must(watch.ReadRecord(bytes.NewReader(c.day.Write(7))))(t)
		var page bytes.Buffer
		testkit.OK(t, document.WriteHTML(&page, watch.Analyze(r, watch.DefaultQuestion()).Document()))
		text := page.String()
		if n := strings.Count(text, "<svg "); n != c.pictures || !strings.Contains(text, c.says) || strings.Contains(text, `="NaN`) {
			t.Errorf("%d CPUs: %d pictures; %t", c.day.CPUs, n, strings.Contains(text, c.says))
		}
	}
}

func same(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }

func show(b *bool) string {
	if b == nil {
		return "unknown"
	}
	return fmt.Sprint(*b)
}

// This file makes up days.

// Day is a made-up recording: a quiet night, then load.
type Day struct {
	CPUs     int
	Interval time.Duration
	Night    time.Duration
	Load     time.Duration
	Busy     float64 // share of all CPUs under load
	// Awake returns which CPUs may get work, so long after load began; nil: all.
	Awake func(since time.Duration, cpus int) int
	// Clock returns the frequency of busy CPUs as a share of the highest; nil: 1.
	Clock func(since time.Duration) float64
	// Sessions, if not 0, is how many CPUs are fully busy at a time in place of Busy. They
	// move every so often, or never if Stay is 0.
	Sessions int
	Stay     time.Duration
	Waits    float64 // pressure under load
	Bare     bool    // no frequency, no idle states, no pressure, as in a cloud guest
	Start    time.Time
}

// Write returns the record of a day, the same for the same seed.
func (d Day) Write(seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	if d.Start.IsZero() {
		d.Start = time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC)
	}
	info := watch.Info{Hostname: "made", Highest: map[int]float64{}, States: map[int][]watch.IdleState{}}
	first := watch.Reading{At: d.Start}
	for c := range d.CPUs {
		first.CPUs = append(first.CPUs, watch.CPUReading{ID: c})
		if !d.Bare {
			info.Highest[c] = 3.5e9
			info.States[c] = []watch.IdleState{{Name: "POLL"}, {Name: "C1", Latency: 2e-6}, {Name: "C6", Latency: 133e-6}}
		}
	}
	h := watch.NewHead(info, first, d.Interval)
	out := watch.HeadLine(h)
	busy := make([]float64, d.CPUs)
	order := rng.Perm(d.CPUs)
	var moved time.Duration
	for t := d.Interval; t <= d.Night+d.Load; t += d.Interval {
		since := t - d.Night
		awake := d.CPUs
		clear(busy)
		switch {
		case since <= 0:
			busy[rng.IntN(d.CPUs)] = min(0.3, 0.03*float64(d.CPUs)) * rng.Float64() // a cron job
		case d.Sessions > 0:
			if d.Stay > 0 && since-moved >= d.Stay {
				rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				moved = since
			}
			for _, c := range order[:d.Sessions] {
				busy[c] = 0.9 + 0.1*rng.Float64()
			}
		default:
			if d.Awake != nil {
				awake = min(d.CPUs, max(1, d.Awake(since, d.CPUs)))
			}
			each := min(1, d.Busy*float64(d.CPUs)/float64(awake))
			for c := range awake {
				busy[c] = min(1, max(0, each*(1+0.4*rng.NormFloat64())))
			}
		}
		s := watch.Sample{At: d.Start.Add(t), Seconds: d.Interval.Seconds()}
		clock := 1.0
		if d.Clock != nil && since > 0 {
			clock = d.Clock(since)
		}
		for c, b := range busy {
			cpu := watch.CPU{ID: c, User: 0.8 * b, System: 0.2 * b, Idle: 1 - b, Ratio: 0.4, Deep: 0.98 * (1 - b)}
			if b > 0.2 {
				cpu.Ratio, cpu.Deep = clock, 0.5*(1-b)
			}
			s.CPUs = append(s.CPUs, cpu)
		}
		for i := range s.Pressure {
			s.Pressure[i] = proc.Pressure{Some: math.NaN(), Full: math.NaN()}
			if !d.Bare {
				s.Pressure[i].Some = 0
			}
		}
		if since > 0 && !d.Bare {
			s.Pressure[0].Some = d.Waits
		}
		var err error
		if out, err = watch.AppendLine(out, h, s); err != nil {
			panic(err) // a mistake of this generator
		}
	}
	return out
}
