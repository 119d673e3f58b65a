package experiment

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// served is a study that judges the latency of a service, and the CPU time of its transactions.
func served(limit float64) *Study {
	s := &Study{Responses: []Response{
		{Response: result.Response{Name: "latency_p99", Unit: "s"}, From: "latency_p99", Scale: 1},
		{Response: result.Response{Name: "cpu_each", Unit: "s"}, From: "cpu_s", Over: "transactions", Scale: 1},
	}}
	s.Harm = &Harm{Responses: []string{"latency_p99", "cpu_each"}, Above: 0.4, Limits: []float64{limit, math.NaN()},
		Strikes: 2, Every: 10 * time.Second}
	return s
}

// bin is a look of 10 s at 100 transactions of a millisecond of CPU time each.
func bin(latency float64) workload.Bin {
	return workload.Bin{Lasted: 10 * time.Second, Values: map[string]float64{"latency_p99": latency, "cpu_s": 0.1,
		"transactions": 100}}
}

// play feeds a period, and returns the look, from 1, that was struck; 0: none.
func play(w *HarmWatch, level bool, bins ...workload.Bin) (at int, v HarmVerdict) {
	w.Period(level)
	for i, b := range bins {
		if v := w.Look(b); v.Strike || v.Held {
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
		"as the baseline": {math.NaN(), several(30, bin(0.010)), 0, ""},
		"35 % above":      {math.NaN(), several(30, bin(0.0135)), 0, ""},
		"50 % above": {math.NaN(), several(30, bin(0.015)), 7,
			"latency_p99 is 15.0 ms, 50 % above the baseline's 10.0 ms (medians of 7 looks and 12)"},
		"CPU time":           {math.NaN(), several(30, dear), 7, "cpu_each is 2.00 ms, 100 % above"},
		"five times as long": {math.NaN(), several(30, bin(0.050)), 4, "latency_p99 is 50.0 ms, 400 % above"},
		"a job of a minute":  {math.NaN(), slices.Concat(several(6, bin(0.03)), several(30, bin(0.01))), 0, ""},
		"above the limit": {0.012, several(30, bin(0.0125)), 2,
			"latency_p99 was above the limit of 12.0 ms in 2 looks running"},
		"once above the limit": {0.012, []workload.Bin{bin(0.01), bin(0.03), bin(0.01), bin(0.03), bin(0.01), bin(0.01)},
			0, ""},
		"nothing is served":    {math.NaN(), several(30, lost), 3, "latency_p99 had no value in 3 looks running"},
		"the rest of a period": {math.NaN(), several(30, short), 0, ""},
		"three stalls of eight": {math.NaN(), []workload.Bin{bin(0.01), bin(0.01), bin(9), bin(0.01), bin(9), bin(0.01),
			bin(9), bin(0.01)}, 0, ""},
	} {
		w := served(c.limit).WatchHarm()
		play(w, false, several(12, bin(0.010))...)
		at, v := play(w, true, c.bins...)
		if at != c.at || !strings.Contains(v.Why, c.why) || v.Stop {
			t.Errorf("%s: struck at %d: %+v; want at %d: %s", name, at, v, c.at, c.why)
		}
	}
}

// A baseline that is often as high by itself makes no level harmful.
func TestHarmIsJudgedByWhatIsUsual(t *testing.T) {
	w := served(math.NaN()).WatchHarm()
	for range 6 { // a job of 2.5 of 10 minutes
		play(w, false, slices.Concat(several(45, bin(0.010)), several(15, bin(0.020)))...)
	}
	if at, v := play(w, true, several(15, bin(0.020))...); at != 0 {
		t.Errorf("struck at %d: %+v", at, v)
	}
	if at, _ := play(w, true, several(15, bin(0.021))...); at == 0 {
		t.Error("beyond all that the baseline has by itself, and not struck")
	}
}

// A strike counts only where the baseline is calm after it, and stays so.
func TestHarmIsConfirmedByACalmBaseline(t *testing.T) {
	good, bad, lost := bin(0.010), bin(0.030), bin(0.010)
	delete(lost.Values, "latency_p99")
	for name, c := range map[string]struct {
		struck workload.Bin
		limit  float64
		held   []workload.Bin
		counts bool
	}{
		"calm at once":        {bad, math.NaN(), several(HarmHold, good), true},
		"calm after a minute": {bad, math.NaN(), slices.Concat(several(6, bad), several(HarmHold, good)), true},
		"not calm":            {bad, math.NaN(), several(HarmHold, bad), false},
		"half calm":           {bad, math.NaN(), several(HarmHold, bin(0.02)), false},
		"calm, and not so again": {bad, math.NaN(), slices.Concat(several(40, good), several(6, bad),
			several(HarmHold, good)), false},
		"calm, and then four stalls": {bad, math.NaN(), slices.Concat(several(40, good), several(4, bad),
			several(HarmHold, good)), true},
		"nothing is served either":     {lost, math.NaN(), several(HarmHold, lost), false},
		"it is served again":           {lost, math.NaN(), several(HarmHold, good), true},
		"above the limit, and below":   {bin(0.013), 0.012, several(HarmHold, good), true},
		"above the limit all the time": {bin(0.013), 0.012, several(HarmHold, bin(0.013)), false},
	} {
		w := served(c.limit).WatchHarm()
		play(w, false, several(36, good)...)
		if at, _ := play(w, true, several(30, c.struck)...); at == 0 {
			t.Fatalf("%s: not struck", name)
		}
		if at, v := play(w, false, c.held...); at == 0 || v.Counts != c.counts || v.Stop || v.Why == "" {
			t.Errorf("%s: %d looks, %+v; want that it counts: %v", name, at, v, c.counts)
		}
	}
}

// hold feeds what follows on a strike.
func hold(w *HarmWatch, b workload.Bin) HarmVerdict {
	_, v := play(w, false, several(HarmHold, b)...)
	return v
}

// x is a period with harm of the level, o one after which the baseline is not calm, b one of the baseline that is as
// bad.
func TestHarmStopsAfterStrikes(t *testing.T) {
	good, bad := several(12, bin(0.010)), several(12, bin(0.030))
	for periods, want := range map[string]string{"xx": "x!", "x.x": "x.!", "x..x": "x..x", "..x..xxx": "..x..xx!",
		"x..x.xx": "x..x.xx",
		"ox":      "ox", "oxx": "oxx", "oxxx": "oxx!", "bxx": "bxx", "bxxx": "bxx!", "x..x.x.xxxx": "x..x.x.xxxx"} {
		w := served(math.NaN()).WatchHarm()
		got := ""
		for _, p := range periods {
			play(w, false, several(360, bin(0.010))...)
			if p == 'b' {
				play(w, false, bad...)
				play(w, false, several(360, bin(0.010))...)
				got += "b"
				continue
			}
			bins := good
			if p != '.' {
				bins = bad
			}
			at, _ := play(w, true, bins...)
			after := bin(0.010)
			if p == 'o' {
				after = bin(0.030)
			}
			switch {
			case at == 0:
				got += "."
			case hold(w, after).Stop:
				got += "!"
			default:
				got += string(p)
			}
		}
		testkit.Is(t, want, got, "periods", periods)
	}
}

// A resume knows the strikes of the record.
func TestHarmIsRecalled(t *testing.T) {
	for _, c := range []struct {
		counts, stops bool
	}{{true, true}, {false, false}} {
		w := served(math.NaN()).WatchHarm()
		if w.Recall(12, true, c.counts) {
			t.Error("one strike stops")
		}
		play(w, false, several(36, bin(0.010))...)
		play(w, true, several(12, bin(0.030))...)
		testkit.Is(t, c.stops, hold(w, bin(0.010)).Stop, "a strike before that counts", c.counts)
	}
	w := served(math.NaN()).WatchHarm()
	if w.Recall(12, true, true); !w.Recall(12, true, true) {
		t.Error("two strikes on record do not stop")
	}
}

// Harm is seen after as much time at the level, however short its periods are.
func TestHarmInShortPeriods(t *testing.T) {
	for looks := 1; looks <= 12; looks++ {
		for times, want := range map[float64]int{1.3: 0, 1.5: 7, 2: 7, 5: 4} {
			w := served(math.NaN()).WatchHarm()
			play(w, false, several(36, bin(0.010))...)
			seen, strikes := 0, 0
			for range 60 {
				at, _ := play(w, true, several(looks, bin(0.010*times))...)
				if at == 0 {
					play(w, false, several(looks, bin(0.010))...)
					seen += looks
					continue
				}
				v := hold(w, bin(0.010))
				if strikes++; seen+at != want || v.Stop != (strikes == 2) {
					t.Fatalf("periods of %d looks, %g times as long: struck after %d looks, want %d: %+v", looks, times, seen+at,
						want, v)
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
	w := served(0.012).WatchHarm()
	play(w, true, bin(0.02))
	play(w, false, bin(0.01))
	if at, _ := play(w, true, bin(0.02)); at != 1 {
		t.Error("two looks at the level above the limit, in two periods, are no strike")
	}
}

func TestHarmWithoutABaselineJudgesLimitsOnly(t *testing.T) {
	w := served(0.05).WatchHarm()
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
		w := served(math.NaN()).WatchHarm()
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
				if v.Strike && (alike || !level || v.Why == "") || v.Stop && !v.Held {
					t.Fatalf("level %v: %+v", level, v)
				}
			}
			if strikes > 1 {
				t.Fatalf("%d strikes in a period", strikes)
			}
		}
	})
}
