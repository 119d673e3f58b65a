package experiment

import (
	"fmt"
	"math"
	"slices"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
	"hostlab/internal/workload"
)

// HarmLooks is how many looks at the level a median is of; HarmFewest is from how many on one is
// taken, with a bar that is as much higher as there are fewer. A job that comes now and then for half a minute
// lifts no median of more. Of the baseline
// there are more, as they are at hand. bench/README.md has what else was tried.
const (
	HarmLooks    = 12
	HarmFewest   = 4
	harmBaseline = 36
	harmOver     = 2    // looks above a limit
	harmSilent   = 3    // looks without a value
	harmStale    = 1.25 // times the bar, where nothing was seen of the baseline since the last strike
)

// HarmWatch applies the rule of a switchback's Harm to its looks, in the order in which they were made. It is
// pure: it knows no clock. The runner feeds it with every look of every period, those of the warm-up
// at the baseline first, and does what it says before the next look.
//
// The rule (thresholds by bench/switchback): a strike where the median of the last looks at the level is above
// that of the last looks at the baseline by more than Harm.Above, the more the fewer looks
// there are; where two looks running are above a limit; or where no value was seen in three looks running that
// the baseline had. Harm.Strikes of them stop the experiment; two stretches of the level in a row without one
// clear those before.
//
// A stretch is a period of the level, or as many short ones as have HarmLooks looks together: what counts is the
// time at the level, so that no length of a period switches the rule off.
//
// Where the next period of the level follows on a strike at once, it is compared with the very looks that were
// perhaps low by chance: the bar is then higher (harmStale), and such a period without a strike clears none. It is best
// to hold the baseline for HarmLooks looks after a strike, and to feed them as a period of the baseline.
type HarmWatch struct {
	harm    *Harm
	judged  []*judged
	level   bool
	struck  bool // in this stretch
	looks   int  // at the level, in this stretch
	strikes int
	clean   int  // stretches of the level without a strike, one after the other
	stale   bool // nothing was seen of the baseline since the last strike
}

// judged is one response of a HarmWatch.
type judged struct {
	Response
	limit       float64   // NaN: none
	base, level []float64 // the last looks
	over        int       // looks running above limit
	silent      int       // looks running without a value
}

// HarmVerdict is what a look says. The zero value says nothing.
type HarmVerdict struct {
	Strike bool   // back to the baseline at once, and end the period
	Stop   bool   // besides, end the experiment
	Why    string // a phrase: "latency_p99 is 14.3 ms, 43 % above ..."
}

// WatchHarm returns the rule of a switchback with nothing seen yet. strikes are those of the last periods of the
// level, for a resume: how many at the end of the record were struck one after the other.
func (s *Study) WatchHarm(strikes int) *HarmWatch {
	w := &HarmWatch{harm: s.Harm, strikes: strikes}
	for i, name := range s.Harm.Responses {
		j := &judged{limit: s.Harm.Limits[i]}
		j.Name, j.From, j.Scale, j.Unit = name, name, 1, s.unit(name)
		for _, r := range s.Responses {
			if r.Name == name {
				j.Response = r
			}
		}
		w.judged = append(w.judged, j)
	}
	return w
}

// Period begins the next period, at the level or at the baseline.
func (w *HarmWatch) Period(level bool) {
	if w.level = level; w.looks < HarmLooks && !w.struck {
		return // the stretch goes on
	}
	if !w.struck && !w.stale {
		if w.clean++; w.clean >= 2 {
			w.strikes = 0
		}
	}
	w.looks, w.struck = 0, false
	for _, j := range w.judged {
		j.level, j.over, j.silent = nil, 0, 0
	}
}

// Look judges a look of the period. After a strike it says nothing until the next one.
func (w *HarmWatch) Look(b workload.Bin) (v HarmVerdict) {
	if b.Lasted < w.harm.Every/2 || w.struck {
		return v // the rest of a period is too short to be a look
	}
	if w.level {
		w.looks++
	} else {
		w.stale = false
	}
	bar := math.Log1p(w.harm.Above)
	if w.stale {
		bar *= harmStale
	}
	for _, j := range w.judged {
		why := j.look(b.Values, w.level, bar)
		if why == "" || v.Strike {
			continue
		}
		w.struck, w.stale, w.clean = true, true, 0
		w.strikes++
		v = HarmVerdict{Strike: true, Stop: w.strikes >= w.harm.Strikes, Why: why}
	}
	return v
}

// Beyond says which limit the service exceeds at the baseline, for which no level is to blame; "" none.
func (w *HarmWatch) Beyond() string {
	for _, j := range w.judged {
		if len(j.base) < HarmFewest {
			continue
		}
		if base := stats.Median(j.base); base > j.limit {
			return fmt.Sprintf("%s is %s at the baseline, above its limit of %s (median of %s)", j.Name,
				result.Format(base, j.Unit),
				result.Format(j.limit, j.Unit), screen.Count(len(j.base), "look"))
		}
	}
	return ""
}

// value is that of the response in a look; NaN: not known.
func (j *judged) value(values map[string]float64) float64 {
	v, ok := values[j.From]
	if !ok {
		return math.NaN()
	}
	if j.Over != "" {
		over, ok := values[j.Over]
		if !ok || over == 0 {
			return math.NaN()
		}
		v /= over
	}
	return v * j.Scale
}

// look takes in a look, and says what harm it shows. bar is the logarithm of how far the median of HarmLooks looks
// may be above the baseline's.
func (j *judged) look(values map[string]float64, level bool, bar float64) (why string) {
	v := j.value(values)
	known := !math.IsNaN(v) && !math.IsInf(v, 0)
	if !level {
		if known {
			j.base = last(append(j.base, v), harmBaseline)
		}
		return ""
	}
	if !known {
		if j.silent++; j.silent >= harmSilent && len(j.base) >= HarmLooks {
			return fmt.Sprintf("%s had no value in %d looks running: nothing is served, by the level or since the load has ended",
				j.Name, j.silent)
		}
		return ""
	}
	j.silent = 0
	if j.level = last(append(j.level, v), HarmLooks); v > j.limit {
		j.over++
	} else {
		j.over = 0
	}
	if j.over >= harmOver {
		return fmt.Sprintf("%s was above the limit of %s in %d looks running", j.Name, result.Format(j.limit, j.Unit), j.over)
	}
	n := len(j.level)
	if n < HarmFewest || len(j.base) < HarmFewest {
		return ""
	}
	// The lower one of two middles, so that half of the looks may stall.
	now, base := slices.Sorted(slices.Values(j.level))[(n-1)/2], stats.Median(j.base)
	if base > 0 && math.Log(now/base) > bar*HarmLooks/float64(n) {
		return fmt.Sprintf("%s is %s, %.0f %% above the baseline's %s (medians of %s and %d)", j.Name, result.Format(now, j.Unit),
			100*(now/base-1), result.Format(base, j.Unit), screen.Count(n, "look"), len(j.base))
	}
	return ""
}

// last keeps the latest n.
func last(looks []float64, n int) []float64 { return looks[max(0, len(looks)-n):] }
