package rollout

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// Verdict is what a gate says.
type Verdict string

const (
	Harm      Verdict = "harm"
	Better    Verdict = "better"
	NoHarm    Verdict = "no harm" // beyond the margin
	Undecided Verdict = "undecided"
)

// Policy is when a roll-out goes on.
type Policy string

const (
	UnlessHarm   Policy = "unless-harm"
	OnlyIfBetter Policy = "only-if-better"
)

// Policies are all, the usual one first.
var Policies = []Policy{UnlessHarm, OnlyIfBetter}

// Judged is a gate's answer. Effects are shares by which the measure is worse (above 0) with the change.
type Judged struct {
	Wave    int             `json:"wave"`
	Policy  Policy          `json:"policy"`
	Verdict Verdict         `json:"verdict"`
	Go      bool            `json:"go"`
	Reasons []string        `json:"reasons"` // why it does not go on, or what limits the answer
	Measure Measure         `json:"measure"`
	Effect  string          `json:"effect"` // with its interval and n, in words; "": not known
	Worse   result.Estimate `json:"-"`
	Value   *float64        `json:"worse"` // share; null: not known
	Low     *float64        `json:"low"`   // null: no limit can be said
	High    *float64        `json:"high"`
	Level   float64         `json:"level"` // of that interval
	PWorse  *float64        `json:"p_worse"`
	PBetter *float64        `json:"p_better"`
	Alpha   float64         `json:"alpha"` // p up to which this gate says harm or better; 0: it cannot
	Orders  float64         `json:"orders"`
	With    int             `json:"with"`     // hosts with the change that are compared
	Without int             `json:"without"`  // hosts without it
	Periods int             `json:"periods"`  // that are compared
	Left    []string        `json:"left_out"` // hosts of the plan that are not compared
}

// Gate judges after a wave. It errs only where the wave is none of the plan.
func (c *Course) Gate(wave int, policy Policy) (*Judged, error) {
	p := c.Plan
	if wave < 1 || wave > len(p.Waves) {
		return nil, fmt.Errorf("the plan has waves 1 to %d", len(p.Waves))
	}
	last := min(wave, len(p.Waves)-1) // after the last wave nobody is left to compare with
	g := p.gates()[last-1]
	j := &Judged{Wave: wave, Policy: policy, Verdict: Undecided, Measure: p.Measure, Alpha: g.Alpha,
		Worse: result.Unknown(), Reasons: []string{}, Left: []string{}}
	ready := c.ready(j, wave)
	units, heard := c.units(j, wave, last)
	ready = ready && heard
	rng := rand.New(rand.NewPCG(p.Seed, 2)) //nolint:gosec // an experiment's order is no secret
	risked := cmp.Or(g.Alpha, risk)
	s := stats.Rollout(units, risked, 0, rng)
	j.Orders, j.Level = s.Orders, 1-2*risked
	if !s.Effect.Known() {
		if ready {
			j.say("no group of equal hosts has both hosts with and without the change that were measured before and after it")
		}
		return j, nil
	}
	j.Worse = s.Effect.Map(math.Expm1)
	j.Value, j.Low, j.High = result.Finite(j.Worse.Value), result.Finite(s.Effect.Low), result.Finite(s.Effect.High)
	for _, limit := range []**float64{&j.Low, &j.High} {
		if *limit != nil {
			v := math.Expm1(**limit)
			*limit = &v
		}
	}
	j.PWorse, j.PBetter = &s.Above, &s.Below
	j.Effect = j.inWords()
	const tie = 1 + 1e-9
	switch {
	case g.Alpha > 0 && s.Above <= g.Alpha*tie:
		j.Verdict = Harm
	case g.Alpha > 0 && s.Below <= g.Alpha*tie:
		j.Verdict = Better
	case s.Effect.High < math.Log1p(margin):
		j.Verdict = NoHarm
	}
	if 1/s.Orders > g.Alpha*tie {
		j.say("this gate cannot show harm: with " + count(s.Orders) + " possible orders of the hosts, p is " +
			pText(1/s.Orders) + " or more")
	}
	if wave > last {
		j.say("all hosts have the change, so none is left to compare with: this repeats the answer of the gate before")
	}
	switch {
	case j.Verdict == Harm:
	case !ready:
	case policy == OnlyIfBetter:
		j.Go = j.Verdict == Better
	case j.Verdict == Undecided && j.Worse.Value > margin:
		j.say(fmt.Sprintf("it may be worse by more than %s", result.Share(margin)))
	default:
		j.Go = true
	}
	return j, nil
}

func (j *Judged) say(text string) { j.Reasons = append(j.Reasons, text) }

// ready reports that waves are as planned, and says what is not.
func (c *Course) ready(j *Judged, wave int) bool {
	var waiting, early, gone, had []string
	for _, h := range c.Hosts {
		switch {
		case h.State == Had:
			had = append(had, h.Name)
		case h.Wave <= wave && h.Applied == nil:
			waiting = append(waiting, h.Name)
		case h.Wave > wave && h.Applied != nil && !h.Applied.After(c.reached[wave]):
			early = append(early, h.Name)
		case h.Wave <= wave && (h.State == Reverted || h.State == Drifted):
			gone = append(gone, h.Name)
		}
	}
	for _, w := range []struct {
		hosts []string
		what  string
	}{{waiting, "no document of verify shows that the change is in force"},
		{early, "of a later wave, but with the change already"},
		{gone, "verify says that the change is no longer in force"}, {had, "had the change before the plan was made"}} {
		if len(w.hosts) > 0 {
			j.say(named(w.hosts) + ": " + w.what)
		}
	}
	return len(waiting)+len(early)+len(gone) == 0
}

// units are the hosts with all values that the comparison takes; a host that has the change and no value since stops
// the roll-out: it may be what the change did.
func (c *Course) units(j *Judged, wave, last int) (units []stats.Unit, heard bool) {
	sign := 1.0
	if c.Plan.Measure.Better == "higher" {
		sign = -1
	}
	mean := func(list []Sample) float64 {
		sum := 0.0
		for _, s := range list {
			sum += sign * math.Log(s.Value)
		}
		return sum / float64(len(list))
	}
	windows := c.windows(last)
	j.Periods = len(windows)
	var silent []string
	for _, h := range c.Hosts {
		before := c.before(h)
		u := stats.Unit{Stratum: h.stratum, Wave: c.shifted(h.Wave, windows), Before: mean(before)}
		whole := len(before) > 0 && h.State != Had && len(windows) > 0
		for _, w := range windows {
			list := h.between(w.from, w.to)
			if len(list) == 0 {
				whole = false
			}
			u.After = append(u.After, mean(list))
		}
		if len(h.between(c.reached[wave], c.end(wave))) == 0 && h.Wave <= wave && h.Applied != nil {
			silent = append(silent, h.Name)
		}
		switch {
		case !whole:
			j.Left = append(j.Left, h.Name)
			continue
		case h.Wave <= last:
			j.With++
		default:
			j.Without++
		}
		units = append(units, u)
	}
	if len(silent) > 0 {
		j.say(named(silent) + ": with the change, but not measured since")
	}
	return units, len(silent) == 0
}

// Measured is a measurement that assessments have.
type Measured struct {
	Name, Unit string
	Hosts      int
}

// Usual are the measurements that are compared where none is named, the first first: the work of one CPU, commits on
// the log device, and how late a thread wakes.
var Usual = []string{"degree.throughput.1", "commit.overwritten.mean", "wakeup.latency.p50.cpu0"}

// better says which direction of a measurement is better; "": that depends.
func better(name, unit string) string {
	switch {
	case strings.HasSuffix(name, ".latency.floor"):
		return ""
	case unit == "s":
		return "lower"
	case unit == "Hz", unit == "1/s", unit == "B/s", strings.HasPrefix(name, "degree."):
		return "higher"
	}
	return ""
}

// Chosen is the measurement that a plan compares: the one named, or the first usual one that so many hosts have. Before
// the first assessment it is the first usual one.
func Chosen(name string, have []Measured, hosts int, t Typed) (Measure, error) {
	if name == "" {
		name = Usual[0]
		for _, u := range Usual {
			if slices.ContainsFunc(have, func(m Measured) bool { return m.Name == u && m.Hosts >= hosts }) {
				name = u
				break
			}
		}
		if len(have) == 0 {
			return Measure{name, "B/s", "higher"}, nil
		}
	}
	for _, m := range have {
		if m.Name != name {
			continue
		}
		if b := better(m.Name, m.Unit); b != "" {
			return Measure{m.Name, m.Unit, b}, nil
		}
		return Measure{}, fmt.Errorf("%s: hostlab does not know whether more is better; choose a measurement in s, Hz or 1/s",
			name)
	}
	if len(have) == 0 {
		return Measure{}, fmt.Errorf("the store has no assessment yet, and so no measurement %q",
			screen.Short(screen.Clean(name)))
	}
	if name == Usual[0] {
		return Measure{name, "B/s", "higher"}, nil
	}
	return Measure{}, fmt.Errorf("no assessment has a measurement %q; '%s' lists what there is",
		screen.Short(screen.Clean(name)), screen.With("hostlab fleet export csv", "--store", t.Store))
}

// Scatter is how far one value of a host is from the others of its own, as a share (one standard deviation), and how
// many a host has in the middle. NaN: no host of the plan has two.
func Scatter(p *Plan, values map[string][]Sample) (share float64, each int) {
	sum, df := 0.0, 0
	var counts []float64
	for _, h := range p.Hosts() {
		var logs []float64
		for _, s := range values[h] {
			if s.Value > 0 {
				logs = append(logs, math.Log(s.Value))
			}
		}
		counts = append(counts, float64(len(logs)))
		if len(logs) >= 2 {
			sum += stats.Variance(logs) * float64(len(logs)-1)
			df += len(logs) - 1
		}
	}
	each = max(1, min(mostBefore, int(stats.Median(counts))))
	if df == 0 {
		return math.NaN(), each
	}
	return math.Expm1(math.Sqrt(sum / float64(df))), each
}
