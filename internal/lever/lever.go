// Package lever judges what could be changed on a platform. A lever has one verdict, and what
// was seen of it is its evidence: a minute of the service, a probe, the checks, an experiment, a simulation.
package lever

import (
	"cmp"
	"slices"

	"hostlab/internal/check"
	"hostlab/internal/result"
)

// The levers. Checks name those of their findings, the others show in a service's time alone.
const (
	Clock  = check.Frequency
	Idle   = check.Idle
	SMT    = check.SMT
	Degree = check.Degree
	Log    = check.Log
	Memory = check.Memory
	Kernel = check.Kernel
	CPUs   = "cpus"
	// Who had the CPUs for which the service waited.
	Neighbour = "neighbour"
	Quota     = "quota"
	Steal     = "steal"
	// What a cloud gives of its volumes and network.
	Limit   = "limit"
	Data    = "data"
	Network = "network"
)

// Names are all levers, in the order in which a burst of work meets them.
var Names = []string{Clock, Idle, SMT, CPUs, Neighbour, Quota, Steal, Limit, Log, Data, Network, Memory, Degree, Kernel}

var titles = map[string]string{
	Clock: "clock frequency", Idle: "idle states", SMT: "hyper-threading", CPUs: "more CPUs",
	Neighbour: "other programs", Quota: "CPU quota", Steal: "hypervisor", Log: "log device",
	Limit: "cloud's limit", Data: "data device", Network: "network", Memory: "memory", Degree: "parallelism",
	Kernel: "kernel limits",
}

// Title is a lever's name for people.
func Title(name string) string { return cmp.Or(titles[name], name) }

// Verdict is what the evidence allows to be said of a lever.
type Verdict string

// The verdicts. Worthwhile alone recommends a change on the strength of a measurement.
const (
	Worthwhile Verdict = "worthwhile" // even the lower end of what is likely is beyond the margin
	Possible   Verdict = "possible"   // it may be beyond it, or a source says so
	Negligible Verdict = "negligible" // it gives less, or is already as it should be
	NotHere    Verdict = "not_here"   // this host has no such hardware, or another sets it or should bear it
	Unknown    Verdict = "unknown"    // nothing bounds it; the evidence says what would
)

// Verdicts are all of them, those first that ask for action.
var Verdicts = []Verdict{Worthwhile, Possible, Unknown, NotHere, Negligible}

// Margin is the practical margin: a change of less than 5 % is not worth touching a platform for on the strength of one
// minute. An effect must reach it, and a probe's noise floor must stay under it before "no effect" is
// said, because a probe that noisy could not have seen one.
const Margin = 0.05

// Lever is what could be changed, and what that could give.
type Lever struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Reason  Reason  `json:"reason"`
	// Of is what the shares below are of; ActiveTime where a service was watched.
	Of       string   `json:"of"`
	Share    *float64 `json:"share"`    // that the lever touches; nil: unknown, as in all of these
	Estimate *float64 `json:"estimate"` // of the gain, by Assumes
	Low      *float64 `json:"estimate_low"`
	Likely   *float64 `json:"likely"` // the estimate, where benchmarks have shown it to be near the gain
	AtMost   *float64 `json:"at_most"`
	// Assumes is what Estimate takes for granted.
	Assumes  string     `json:"assumes,omitempty"`
	Owner    string     `json:"owner,omitempty"` // who sets it, where this host has no knob
	Next     Next       `json:"next"`
	Try      string     `json:"try,omitempty"` // what shows on the service itself whether it is worth it
	Evidence []Evidence `json:"evidence"`      // that which decides comes first
}

// ActiveTime is what shares are of where a service was watched.
const ActiveTime = "the service's active time"

// Source is where evidence comes from.
type Source string

const (
	OfMinute     Source = "minute"
	OfProbe      Source = "probe"
	OfChecks     Source = "checks"
	OfExperiment Source = "experiment"
	OfSimulation Source = "simulation"
)

// Evidence is what one source says of a lever.
type Evidence struct {
	Source Source          `json:"source"`
	Kind   result.Evidence `json:"kind"` // "": it knows nothing, and Text says why
	Text   string          `json:"text"` // clauses
	// Gain is a measured or simulated share of time; nil: it has none.
	Gain        *result.Estimate    `json:"gain,omitempty"`
	Bound       *Bound              `json:"bound,omitempty"`
	Measurement *result.Measurement `json:"measurement,omitempty"` // that decides
	Findings    []string            `json:"findings,omitempty"`    // IDs of checks
}

// Gains reports that it has a gain.
func (e Evidence) Gains() bool { return e.Gain != nil && e.Gain.Known() }

// Bound is the most that a probe leaves open.
type Bound struct {
	AtMost *float64 `json:"at_most"` // nil: unknown
	Of     string   `json:"of"`
	By     string   `json:"by"`   // what would give it, where that is not the setting advised, as in "any faster device"
	From   Basis    `json:"from"` // "" while it is unknown
	Why    string   `json:"why"`
}

// Basis is how a bound is known.
type Basis string

const (
	Measured Basis = "measured" // from an interval that was measured here
	Computed Basis = "computed" // from settings and limits that this host reports, or from them and a measurement
	Cited    Basis = "cited"    // from a figure that the kernel or a source states
)

// Next is what to do about a lever.
type Next struct {
	Command string   `json:"command"`        // what to type; "" where no command does it
	Note    string   `json:"note,omitempty"` // what it shows, or what to do instead; a clause
	Sets    []string `json:"sets,omitempty"` // settings that Command changes
}

func step(command, note string) Next { return Next{Command: command, Note: note} }

// or is another step where this is none.
func (n Next) or(other Next) Next {
	if n.Command == "" && n.Note == "" {
		return other
	}
	return n
}

// Title is its name for people.
func (l *Lever) Title() string { return Title(l.Name) }

// Kind is that of the evidence that decides; "": none knows anything.
func (l *Lever) Kind() result.Evidence {
	for _, e := range l.Evidence {
		if e.Kind != "" {
			return e.Kind
		}
	}
	return ""
}

// Why is what decides, in clauses.
func (l *Lever) Why() string {
	for _, e := range l.Evidence {
		if e.Text != "" {
			return e.Text
		}
	}
	return ""
}

// Add adds what another source says.
func (l *Lever) Add(e ...Evidence) { l.Evidence = append(l.Evidence, e...) }

// Measurement is the one of a probe; nil: none decides.
func (l *Lever) Measurement() *result.Measurement {
	for _, e := range l.Evidence {
		if e.Measurement != nil {
			return e.Measurement
		}
	}
	return nil
}

// Findings are IDs of checks.
func (l *Lever) Findings() (ids []string) {
	for _, e := range l.Evidence {
		ids = append(ids, e.Findings...)
	}
	return ids
}

// Gains says what it could give a service: shares of its active time.
func (l *Lever) Gains(share, low, estimate, high float64) {
	share, low, estimate, high = Unit(share), Unit(low), Unit(estimate), Unit(high)
	estimate = min(estimate, high)
	low = min(low, estimate)
	l.Of, l.Reason = ActiveTime, BoundedHere
	l.Share, l.Low, l.Estimate, l.AtMost = &share, &low, &estimate, &high
	if l.Likely = nil; estimate < Margin || slices.Contains(tried, l.Name) {
		l.Likely = &estimate
	}
	switch {
	case high < Margin:
		l.Verdict = Negligible
	case low >= Margin:
		l.Verdict = Worthwhile
	default:
		l.Verdict = Possible
	}
}

// Limit says what it could give a service at most, where nothing says what is likely.
func (l *Lever) Limit(share *float64, most float64) {
	most = Unit(most)
	l.Of, l.Reason, l.Share, l.AtMost, l.Verdict = ActiveTime, BoundedHere, share, &most, Possible
	if most < Margin {
		l.Verdict = Negligible
	}
}

// Unseen says that nothing bounds it.
func (l *Lever) Unseen(share *float64) {
	l.Of, l.Share, l.Verdict, l.Reason = ActiveTime, share, Unknown, NotSeen
}

// Nothing is the share below which a gain is written as 0 %.
const Nothing = 0.0005

// Bounded reports that something limits its gain: all of the time is no limit.
func (l *Lever) Bounded() bool { return l.AtMost != nil && *l.AtMost < 0.995 }

// tried are the levers whose estimate was within a third of the gain that a bench measured when the cause was taken
// away, in four of five loads: bench/causes, of the clock bench/live-clock. Of other programs it was in half of them:
// their clients and the service itself take the CPUs that become free.
var tried = []string{Clock, Quota, Log, Data}

// Open reports that it may be worth something.
func (l *Lever) Open() bool { return l.Verdict == Worthwhile || l.Verdict == Possible }

// Unit is a share within 0 and 1.
func Unit(v float64) float64 { return min(max(v, 0), 1) }

// Join gives the levers of a service what the platform's say: who has the knob, what to type, and their evidence. A
// cost
// that a probe measured, or a change that a source recommends, makes one possible of which the minute knows nothing.
func Join(service, platform []Lever) []Lever {
	for _, p := range platform {
		i := slices.IndexFunc(service, func(l Lever) bool { return l.Name == p.Name })
		if i < 0 {
			service = append(service, p)
			continue
		}
		l := &service[i]
		if l.Owner = p.Owner; l.Verdict != NotHere { // with what is not there, nothing is to be done
			l.Next = p.Next
		}
		l.Add(p.Evidence...)
		if l.AtMost != nil || l.Verdict != Unknown {
			continue
		}
		switch {
		case p.Owner != "":
			l.Verdict, l.Reason = NotHere, Elsewhere
		case p.Reason == Costs || p.Reason == Recommended:
			l.Verdict, l.Reason = Possible, p.Reason
		case p.Reason == NoSiblings:
			l.Verdict, l.Reason = NotHere, p.Reason
		}
	}
	return service
}

// Order puts the likeliest gain first, then the greatest that is possible, then what is unknown.
func Order(levers []Lever) {
	rank := func(l Lever) (known, estimate, most float64) {
		switch {
		case l.AtMost == nil:
			return 1, 0, 0
		case l.Estimate == nil:
			return 0, 0, -*l.AtMost
		}
		return 0, -*l.Estimate, -*l.AtMost
	}
	slices.SortStableFunc(levers, func(a, b Lever) int {
		ka, la, ma := rank(a)
		kb, lb, mb := rank(b)
		return cmp.Or(cmp.Compare(ka, kb), cmp.Compare(la, lb), cmp.Compare(ma, mb))
	})
}
