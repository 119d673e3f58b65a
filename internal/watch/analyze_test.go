package watch_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"hostlab/internal/document"
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
			for line := range strings.Lines(text.String()) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
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
