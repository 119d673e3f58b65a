package experiment

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hostlab/internal/result"
	"hostlab/internal/workload"
)

// served is a study that judges the latency of a service, and the CPU time of its transactions.
func served(limit float64) *Study {
	s := &Study{Responses: []Response{
		{Response: result.Response{Name: "latency_p99", Unit: "s"}, From: "latency_p99", Scale: 1},
		{Response: result.Response{Name: "cpu_each", Unit: "s"}, From: "cpu_s", Over: "transactions", Scale: 1},
	}}
	s.Harm = &Harm{Responses: []string{"latency_p99", "cpu_each"}, Above: 0.4, Limits: []float64{limit, math.NaN()}, Strikes: 2, Every: 10 * time.Second}
	return s
}

// bin is a look of 10 s at 100 transactions of a millisecond of CPU time each.
func bin(latency float64) workload.Bin {
	return workload.Bin{Lasted: 10 * time.Second, Values: map[string]float64{"latency_p99": latency, "cpu_s": 0.1, "transactions": 100}}
}

// play feeds a period, and returns the look, from 1, that was struck; 0: none.
func play(w *HarmWatch, level bool, bins ...workload.Bin) (at int, v HarmVerdict) {
	w.Period(level)
	for i, b := range bins {
		if v := w.Look(b); v.Strike {
			return i + 1, v
		}
	}
	return 0, HarmVerdict{}
}

func several(n int, b workload.Bin) (list []workload.Bin) {
	for range n {
		list = append(list, b)
	}
	return list
}

func TestHarmIsStruck(t *testing.T) {
	dear, lost, short := bin(0.010), bin(0.010), bin(0.100)
	dear.Values["cpu_s"] = 0.2
	delete(lost.Values, "latency_p99")
	short.Lasted = 2 * time.Second
	for name, c := range map[string]struct {
		limit float64
		bins  []workload.Bin
		at    int
		why   string
	}{
		"as the baseline":       {math.NaN(), several(30, bin(0.010)), 0, ""},
		"35 % above":            {math.NaN(), several(30, bin(0.0135)), 0, ""},
		"50 % above":            {math.NaN(), several(30, bin(0.015)), 10, "latency_p99 is 15.0 ms, 50 % above the baseline's 10.0 ms (medians of 10 looks and 12)"},
		"twice as long":         {math.NaN(), several(30, bin(0.020)), 6, "latency_p99 is 20.0 ms, 100 % above"},
		"CPU time":              {math.NaN(), several(30, dear), 6, "cpu_each is 2.00 ms, 100 % above"},
		"five times as long":    {math.NaN(), several(30, bin(0.050)), 4, "latency_p99 is 50.0 ms, 400 % above"},
		"above the limit":       {0.012, several(30, bin(0.0125)), 2, "latency_p99 was above the limit of 12.0 ms in 2 looks running"},
		"once above the limit":  {0.012, []workload.Bin{bin(0.01), bin(0.03), bin(0.01), bin(0.03), bin(0.01), bin(0.01)}, 0, ""},
		"nothing is served":     {math.NaN(), several(30, lost), 3, "latency_p99 had no value in 3 looks running"},
		"the rest of a period":  {math.NaN(), several(30, short), 0, ""},
		"three stalls of eight": {math.NaN(), []workload.Bin{bin(0.01), bin(0.01), bin(9), bin(0.01), bin(9), bin(0.01), bin(9), bin(0.01)}, 0, ""},
	} {
		w := served(c.limit).WatchHarm(0)
		play(w, false, several(12, bin(0.010))...)
		at, v := play(w, true, c.bins...)
		if at != c.at || !strings.Contains(v.Why, c.why) || v.Stop {
			t.Errorf("%s: struck at %d: %+v; want at %d: %s", name, at, v, c.at, c.why)
		}
	}
}

func TestHarmStopsAfterStrikes(t *testing.T) {
	good, bad := several(12, bin(0.010)), several(12, bin(0.030))
	for periods, want := range map[string]string{"xx": "x!", "x.x": "x.!", "x..x": "x..x", "..x..x.x": "..x..x.!"} {
		w := served(math.NaN()).WatchHarm(0)
		got := ""
		for _, p := range periods {
			play(w, false, good...)
			bins := good
			if p == 'x' {
				bins = bad
			}
			at, v := play(w, true, bins...)
			switch {
			case v.Stop:
				got += "!"
			case at > 0:
				got += "x"
			default:
				got += "."
			}
		}
		if got != want {
			t.Errorf("periods %s: %s, want %s", periods, got, want)
		}
	}
	w := served(math.NaN()).WatchHarm(1)
	play(w, false, good...)
	if _, v := play(w, true, bad...); !v.Stop {
		t.Errorf("after a resume: %+v, want a stop, as the period before was struck", v)
	}
}

// Harm is seen after as much time at the level, however short its periods are.
func TestHarmInShortPeriods(t *testing.T) {
	for looks := 1; looks <= 12; looks++ {
		for times, want := range map[float64]int{1.3: 0, 1.5: 10, 2: 6, 5: 4} {
			w := served(math.NaN()).WatchHarm(0)
			play(w, false, several(12, bin(0.010))...)
			seen, strikes := 0, 0
			for range 60 {
				at, v := play(w, true, several(looks, bin(0.010*times))...)
				play(w, false, several(looks, bin(0.010))...)
				if at == 0 {
					seen += looks
					continue
				}
				if strikes++; seen+at != want || v.Stop != (strikes == 2) {
					t.Fatalf("periods of %d looks, %g times as long: struck after %d looks, want %d: %+v", looks, times, seen+at, want, v)
				}
				if v.Stop {
					break
				}
				seen = 0
			}
			if (strikes == 2) != (want > 0) {
				t.Errorf("periods of %d looks, %g times as long: %d strikes", looks, times, strikes)
			}
		}
	}
	w := served(0.012).WatchHarm(0)
	play(w, true, bin(0.02))
	play(w, false, bin(0.01))
	if at, _ := play(w, true, bin(0.02)); at != 1 {
		t.Error("two looks at the level above the limit, in two periods, are no strike")
	}
}

func TestHarmWithoutABaselineJudgesLimitsOnly(t *testing.T) {
	w := served(0.05).WatchHarm(0)
	if at, v := play(w, true, several(12, bin(0.030))...); at != 0 {
		t.Errorf("struck at %d without a baseline: %+v", at, v)
	}
	if at, _ := play(w, true, several(12, bin(0.060))...); at != 2 {
		t.Errorf("above the limit: struck at %d, want 2", at)
	}
}

// Whatever comes, a period is struck once, only one of the level, and never where all looks are alike.
func TestHarmProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := served(math.NaN()).WatchHarm(0)
		alike := rapid.Bool().Draw(t, "alike")
		for range rapid.IntRange(1, 20).Draw(t, "periods") {
			level := rapid.Bool().Draw(t, "level")
			w.Period(level)
			strikes := 0
			for range rapid.IntRange(0, 30).Draw(t, "looks") {
				b := bin(0.01)
				if !alike {
					b = bin(math.Exp(rapid.Float64Range(-9, 3).Draw(t, "latency")))
				}
				v := w.Look(b)
				if v.Strike {
					strikes++
				}
				if v.Strike && (alike || !level || v.Why == "") || v.Stop && !v.Strike {
					t.Fatalf("level %v: %+v", level, v)
				}
			}
			if strikes > 1 {
				t.Fatalf("%d strikes in a period", strikes)
			}
		}
	})
}
