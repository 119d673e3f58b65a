package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/explain"
	"hostlab/internal/testkit"
)

// bandAt is one of a service whose transactions take longer at noon, and this much longer besides.
func bandAt(rng *rand.Rand, at time.Time, more float64) Band {
	peak := (1 - math.Cos(2*math.Pi*float64(at.Hour())/24)) / 2
	n := 6000 * (0.3 + peak)
	cpu, locks := n*0.003*(1+peak)*math.Exp(0.03*rng.NormFloat64()), n*0.003*more
	return Band{At: at, Wall: 600, Busy: cpu + locks, Transactions: int64(n),
		Parts: map[explain.PartName]float64{explain.DatabaseCPU: cpu, explain.Locks: locks}}
}

// TestTrend: eight days without a change are quiet, also across a change of the clocks and a night without hostlab; a rise is
// named with its part, lasts as long as it does, and ends. bench/trend has the rates.
func TestTrend(t *testing.T) {
	berlin := testkit.Must(time.LoadLocation("Europe/Berlin"))(t)
	for seed := range uint64(5) {
		rng, trends := rand.New(rand.NewPCG(seed, 1)), Trends{}
		begin := time.Date(2026, 10, 19, 0, 0, 0, 0, berlin)
		at := func(b int) time.Time { return begin.Add(time.Duration(b) * bandFor) }
		add := func(from, to int, more float64) (rises []*Rise) {
			for b := from; b < to; b++ {
				r, _ := trends.Add(bandAt(rng, at(b), more))
				rises = append(rises, r)
			}
			return rises
		}
		count := func(rises []*Rise) (n int) {
			for _, r := range rises {
				if r != nil {
					n++
				}
			}
			return n
		}
		if n := count(add(0, 6*144, 0)) + count(add(6*144+50, 9*144, 0)); n > 0 {
			t.Errorf("seed %d: %d bands of a rise that is none", seed, n)
		}
		rises := add(9*144, 9*144+60, 0.3)
		r := rises[59]
		if r == nil || count(rises[:12]) == 0 || count(rises) < 45 {
			t.Fatalf("seed %d: %d bands of a rise, %d in two hours", seed, count(rises), count(rises[:12]))
		}
		if r.Part != explain.Locks || r.Ratio < 1.1 || r.Ratio > 1.4 || r.Days < leastDays || !strings.Contains(r.Text(), "most of it is locks") {
			t.Errorf("seed %d: %+v", seed, r)
		}
		if low, high := trends.Usual(at(9*144 + 60)); !(low > 0.0025 && low < 0.95*high && high < 0.0075) {
			t.Errorf("seed %d: a transaction usually takes %g to %g s", seed, low, high)
		}
		if over := add(9*144+60, 9*144+80, 0); over[19] != nil {
			t.Errorf("seed %d: it does not end: %+v", seed, over[19])
		}
	}
}

// TestTrendClock: a clock that is set back within an hour, was ten years ahead for an hour or 26 behind for two makes no rise, and ends
// no trend: a rise that comes then is seen. One that was wrong for weeks is believed after a day.
func TestTrendClock(t *testing.T) {
	begin := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	for name, spoil := range map[string]func(add func(at time.Time)){
		"set back": func(add func(time.Time)) {
			add(begin.Add(6*24*time.Hour - 2*bandFor))
			add(begin.Add(6*24*time.Hour - bandFor))
		},
		"ahead": func(add func(time.Time)) { add(begin.AddDate(10, 0, 0)); add(begin.AddDate(10, 0, 0).Add(time.Hour)) },
		"behind": func(add func(time.Time)) {
			add(begin.AddDate(-26, 0, 0))
			add(begin.AddDate(-26, 0, 0).Add(2 * time.Hour))
		},
		"not wrong": func(func(time.Time)) {},
	} {
		rng, trends := rand.New(rand.NewPCG(7, 1)), Trends{}
		add := func(at time.Time, more float64) *Rise {
			r, _ := trends.Add(bandAt(rng, at, more))
			if !slices.IsSortedFunc(trends.bands, func(a, b pastBand) int { return a.at.Compare(b.at) }) {
				t.Fatalf("%s: not in order", name)
			}
			return r
		}
		for b := range 6 * 144 {
			add(begin.Add(time.Duration(b)*bandFor), 0)
		}
		spoil(func(at time.Time) { add(at, 0) })
		told := 0
		for b := 6 * 144; b < 9*144+60; b++ {
			more := 0.0
			if b >= 9*144 {
				more = 0.3
			}
			switch r := add(begin.Add(time.Duration(b)*bandFor), more); {
			case r != nil && b < 9*144:
				t.Fatalf("%s: a rise that is none: %+v", name, r)
			case r != nil:
				told++
			}
		}
		if told < 40 {
			t.Errorf("%s: %d bands of the rise", name, told)
		}
	}
	rng, trends := rand.New(rand.NewPCG(7, 1)), Trends{}
	for b := range 10 * 144 {
		trends.Add(bandAt(rng, begin.AddDate(1, 0, 0).Add(time.Duration(b)*bandFor), 0))
	}
	for b := range 2 * 144 {
		trends.Add(bandAt(rng, begin.Add(time.Duration(b)*bandFor), 0))
	}
	if n := len(trends.bands); n != dayBands || trends.bands[0].at.Year() != 2026 {
		t.Errorf("%d bands from %s", n, trends.bands[0].at)
	}
}

// TestBands: what is kept is made into bands, which go on where hostlab ended, and a time of a ring says the rise that it is in.
func TestBands(t *testing.T) {
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(9, 9))
	var news []string
	now := time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC) // a Thursday
	for run := range 2 {                                 // hostlab was started anew on the fifth day
		b := testkit.Must(openBands(dir))(t)
		for i := run * 5 * 144; i < 5*144+run*5*144; i++ {
			at, more := now.Add(time.Duration(i-10*144)*bandFor), 0.0
			if i >= 10*144-24 {
				more = 0.5
			}
			one := bandAt(rng, at, more)
			m := &assess.Minute{Report: explain.Report{Wall: one.Wall, Busy: one.Busy, Transactions: one.Transactions,
				Parts: []explain.Part{{Name: explain.Locks, Seconds: one.Parts[explain.Locks]}}}}
			said := testkit.Must(b.add(at, m))(t)
			if said != "" {
				news = append(news, said)
			}
		}
		b.into.Close()
	}
	if len(news) != 1 || !strings.Contains(news[0], "a transaction takes") {
		t.Errorf("%q", news)
	}
	h := &History{Dir: dir, From: now.Add(-time.Hour), To: now}
	rise, since, days := h.risen()
	if rise == nil || !(days > 0) || since.Before(now.Add(-5*time.Hour)) || since.After(now.Add(-3*time.Hour)) {
		t.Errorf("%+v since %s", rise, since)
	}
	h.From, h.To = now.Add(-10*time.Hour), now.Add(-9*time.Hour)
	if rise, _, _ := h.risen(); rise != nil {
		t.Errorf("before it began: %+v", rise)
	}
	var none bands
	testkit.Is(t, "", testkit.Must(none.close())(t))
}
