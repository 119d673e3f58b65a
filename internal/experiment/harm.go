package experiment

import (
	"fmt"
	"math"
	"slices"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
	"hostlab/internal/workload"
)

// The rule in looks. docs/live.md has what bench/switchback measured with it.
const (
	// HarmLooks is of how many of the last looks at the level HarmMany have to be above the bar: a job of a minute
	// fills fewer.
	HarmLooks = 12
	HarmMany  = 7
	// HarmJump looks running that are above the bar as if it were harmFar times as high, in logarithms, are enough too.
	HarmJump = 4
	harmFar  = 4
	// harmBaseline of the baseline give its median. Those of harmPast give the quantile harmUsual: what one look in ten
	// is at the baseline by itself is no harm at the level.
	harmBaseline = 36
	harmPast     = time.Hour
	harmUsual    = 0.9
	// HarmHold is for how many looks the baseline is held after a strike: long enough for a job of every 10 minutes to
	// come again. harmCalm running have to be calm within harmSettled, and no HarmLooks later on may have harmAgain that
	// would be harm at the level.
	HarmHold    = 90
	harmSettled = 18
	harmCalm    = 6
	harmAgain   = 6
	harmOver    = 2 // looks above a limit
	harmSilent  = 3 // looks without a value
	// harmRefuted is how many further strikes it takes at most, where others turned out to be chance.
	harmRefuted = 4
)

// HarmWatch applies the rule of a switchback's Harm to its looks, in the order in which they were made. It is
// pure: it knows no clock. The runner feeds it with every look of every period, those of the warm-up
// at the baseline first, and does what it says before the next look.
//
// A strike ends a period of the level. It comes where HarmMany of the last HarmLooks looks are above the bar: the
// baseline's median times 1 + Harm.Above, or its usual highest of the last hour if that is more; where two looks
// running are above a limit; or where no value was seen in three looks running that the baseline had.
//
// It counts only if the baseline is calm thereafter, for HarmHold looks: what goes on at the baseline is no harm of the
// level, but a job, a slow change or a new regime. Harm.Strikes of those that count stop the experiment. Two stretches
// of the level in a row without a strike clear those before. Whatever shows that such looks come without the level
// makes it take one strike more: strikes that did not count or were cleared, and a period of the baseline that would be
// struck at the level. Then one stretch without a strike is enough to clear. By the random order, chance strikes both
// alike.
//
// A stretch is a period of the level, or as many short ones as have HarmLooks looks together: what counts is the
// time at the level, so that no length of a period switches the rule off.
type HarmWatch struct {
	harm    *Harm
	judged  []*judged
	level   bool
	hit     *judged // whose strike is not decided yet: the baseline is held
	struck  bool    // in this stretch
	looks   int     // at the level, in this stretch
	held    int     // looks at the baseline since the strike
	strikes int     // that count
	refuted int
	alike   bool // this period of the baseline is not looked at, or would have been struck
	clean   int  // stretches of the level without a strike, one after the other
}

// judged is one response of a HarmWatch.
type judged struct {
	Response
	limit       float64   // NaN: none
	base, level []float64 // the last looks
	past        int       // looks of the baseline that are kept
	median, bar float64   // of the baseline; NaN: not known
	over        int       // looks running above limit
	silent      int       // looks running without a value
	calm, again float64   // below the one and above the other the baseline is calm, or not, after a strike
	hold        []float64 // looks running since the strike
	wasCalm     bool
	self        []float64 // the last looks of this period of the baseline
}

// HarmVerdict is what a look says. The zero value says nothing.
type HarmVerdict struct {
	Strike bool   // back to the baseline at once, end the period, and hold the baseline until Held
	Why    string // a phrase: "latency_p99 is 14.3 ms, 43 % above ..."
	Held   bool   // the baseline was held for long enough
	Counts bool   // the strike does, since the baseline was calm
	Stop   bool   // end the experiment
}

// WatchHarm returns the rule of a switchback with nothing seen yet.
func (s *Study) WatchHarm() *HarmWatch {
	w := &HarmWatch{harm: s.Harm}
	for i, name := range s.Harm.Responses {
		j := &judged{limit: s.Harm.Limits[i], past: max(harmBaseline, int(harmPast/s.Harm.Every)),
			median: math.NaN(), bar: math.NaN()}
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

// Recall takes in a period of the level that is on record, for a resume: for how many looks it lasted, whether harm
// ended it, and whether that counts. It reports whether the experiment is to end.
func (w *HarmWatch) Recall(looks int, struck, counts bool) (stop bool) {
	w.Period(true)
	if w.looks += looks; struck {
		w.struck = true
		stop = w.decide(counts)
	}
	return stop
}

// decide takes in whether a strike counts.
func (w *HarmWatch) decide(counts bool) (stop bool) {
	w.hit, w.clean = nil, 0
	if counts {
		w.strikes++
	} else {
		w.refuted++
	}
	return w.strikes >= w.harm.Strikes+min(w.refuted, harmRefuted)
}

// Period begins the next period, at the level or at the baseline.
func (w *HarmWatch) Period(level bool) {
	w.level = level
	if level {
		w.Abandon()
	}
	w.alike = w.hit != nil
	for _, j := range w.judged {
		j.measure(math.Log1p(w.harm.Above))
		j.self = nil
	}
	if w.looks < HarmLooks && !w.struck || w.hit != nil {
		return // the stretch goes on
	}
	if !w.struck {
		if w.clean++; (w.clean >= 2 || w.refuted > 0) && w.strikes > 0 {
			w.strikes, w.refuted = 0, w.refuted+1
		}
	}
	w.looks, w.struck = 0, false
	for _, j := range w.judged {
		j.level, j.over, j.silent = nil, 0, 0
	}
}

// Abandon says that the baseline is not held any longer. A strike that is not decided counts, to be safe.
func (w *HarmWatch) Abandon() (v HarmVerdict) {
	if w.hit != nil {
		v = HarmVerdict{Held: true, Counts: true, Why: "the baseline was not watched for long enough thereafter"}
		v.Stop = w.decide(true)
	}
	return v
}

// Look judges a look of the period. After a strike it says nothing until the baseline was held.
func (w *HarmWatch) Look(b workload.Bin) (v HarmVerdict) {
	if b.Lasted < w.harm.Every/2 {
		return v // the rest of a period is too short to be a look
	}
	if !w.level {
		for _, j := range w.judged {
			if j.atBaseline(b.Values); !w.alike && high(j.self, j.bar) >= HarmMany {
				w.alike = true
				w.refuted++
			}
		}
		return w.holding()
	}
	if w.struck {
		return v
	}
	w.looks++
	for _, j := range w.judged {
		if why := j.look(b.Values, math.Log1p(w.harm.Above)); why != "" && !w.struck {
			w.hit, w.struck, w.held, j.hold, j.wasCalm = j, true, 0, nil, false
			v = HarmVerdict{Strike: true, Why: why}
		}
	}
	return v
}

// holding judges whether the baseline is calm after a strike.
func (w *HarmWatch) holding() (v HarmVerdict) {
	if w.hit == nil {
		return v
	}
	w.held++
	j := w.hit
	j.wasCalm = j.wasCalm || len(j.hold) >= harmCalm && stats.Median(last(j.hold, harmCalm)) <= j.calm
	switch {
	case w.held >= harmSettled && (!j.wasCalm || high(last(j.hold, HarmLooks), j.again) >= harmAgain):
		v.Why = "the baseline was not calm thereafter, so that the level is not to blame"
	case w.held < HarmHold:
		return v
	default:
		v.Counts, v.Why = true, "the baseline was calm thereafter"
	}
	v.Held, v.Stop = true, w.decide(v.Counts)
	return v
}

// Beyond says which limit the service exceeds at the baseline, for which no level is to blame; "" none.
func (w *HarmWatch) Beyond() string {
	for _, j := range w.judged {
		recent := last(j.base, harmBaseline)
		if len(recent) < HarmJump {
			continue
		}
		if base := stats.Median(recent); base > j.limit {
			return fmt.Sprintf("%s is %s at the baseline, above its limit of %s (median of %s)", j.Name,
				result.Format(base, j.Unit), result.Format(j.limit, j.Unit), screen.Count(len(recent), "look"))
		}
	}
	return ""
}

// value is that of the response in a look; NaN: not known.
func (j *judged) value(values map[string]float64) float64 {
	v, ok := values[j.From]
	if j.Over != "" {
		over, there := values[j.Over]
		v, ok = v/over, ok && there
	}
	if v *= j.Scale; !ok || math.IsInf(v, 0) { // or NaN: 0 of 0
		return math.NaN()
	}
	return v
}

// atBaseline takes in a look at the baseline.
func (j *judged) atBaseline(values map[string]float64) {
	v := j.value(values)
	if math.IsNaN(v) {
		j.hold = nil
		return
	}
	j.base, j.hold, j.self = last(append(j.base, v), j.past), append(j.hold, v), last(append(j.self, v), HarmLooks)
}

// measure says from what a look at the level is above the baseline. above is the logarithm of how far.
func (j *judged) measure(above float64) {
	if len(j.base) < HarmLooks {
		return
	}
	j.median = stats.Median(last(j.base, harmBaseline))
	j.bar = max(j.median*math.Exp(above), stats.Quantile(j.base, harmUsual))
}

// look takes in a look at the level, and says what harm it shows.
func (j *judged) look(values map[string]float64, above float64) (why string) {
	v := j.value(values)
	if math.IsNaN(v) {
		if j.silent++; j.silent >= harmSilent && len(j.base) >= HarmLooks {
			j.calm, j.again = math.Inf(1), math.Inf(1)
			return fmt.Sprintf(
				"%s had no value in %d looks running: nothing is served, by the level or since the load has ended",
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
		j.calm, j.again = j.limit, j.limit
		return fmt.Sprintf("%s was above the limit of %s in %d looks running", j.Name, result.Format(j.limit, j.Unit), j.over)
	}
	if !(j.median > 0) {
		return ""
	}
	far := j.bar * math.Exp((harmFar-1)*above)
	if high(j.level, j.bar) < HarmMany && high(last(j.level, HarmJump), far) < HarmJump {
		return ""
	}
	// That of the higher ones, as the first looks may be of a service that is not there yet.
	now := stats.Median(slices.Sorted(slices.Values(j.level))[max(0, len(j.level)-HarmMany):])
	j.calm, j.again = math.Sqrt(j.median*now), j.bar // half of the way
	return fmt.Sprintf("%s is %s, %.0f %% above the baseline's %s (medians of %s and %d)", j.Name,
		result.Format(now, j.Unit),
		100*(now/j.median-1), result.Format(j.median, j.Unit), screen.Count(min(len(j.level), HarmMany), "look"),
		len(last(j.base, harmBaseline)))
}

// last keeps the latest n.
func last(looks []float64, n int) []float64 { return looks[max(0, len(looks)-n):] }

// high counts the looks above a bar.
func high(looks []float64, bar float64) (n int) {
	for _, v := range looks {
		if v > bar {
			n++
		}
	}
	return n
}
