// Package probe holds the quick measurements of `hostlab assess`: what the
// platform costs right now, in about a minute, without any privilege.
//
// A probe interleaves the conditions that it compares within rounds, in random
// order, so that a drifting host cannot become an effect, and repeats one
// condition (A/A) to learn its own noise floor.
package probe

import (
	"context"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/workload/burst"
	"hostlab/internal/workload/worker"
)

// Config is what a probe needs to know. DefaultConfig gives usual values.
type Config struct {
	Facts    *host.Facts
	LogDir   string                          // where the commit probe writes; absolute; "" for nowhere
	LogFound bool                            // LogDir is a server's own, which nobody named: no link on the way to it is followed
	NoLog    string                          // why LogDir is "": what is wrong and what to do
	MemDir   string                          // a tmpfs for its upper bound, "" if the host has none
	CPUs     []int                           // CPUs this process may use, ascending
	Budget   time.Duration                   // how long the probe may take; it plans its rounds to fit
	Seed     uint64                          // of the order of conditions
	Alpha    float64                         // 1 - confidence
	Report   func(done, total time.Duration) // progress; may be nil
}

// Outcome is what one probe found. A probe that could not run is an outcome
// with Skipped set, not an error: the others go on.
type Outcome struct {
	Probe         string                `json:"probe"`
	Title         string                `json:"title"`
	Method        string                `json:"method"`            // one paragraph, for the report
	Skipped       string                `json:"skipped,omitempty"` // why nothing was measured, and what to do about it
	Failed        string                `json:"failed,omitempty"`  // the probe itself broke; set by the caller
	Seconds       float64               `json:"seconds"`
	Measurements  []result.Measurement  `json:"-"` // listed flat in assess's JSON
	Distributions []result.Distribution `json:"distributions,omitempty"`
	Pairs         []PairResult          `json:"pairs,omitempty"` // siblings only
	Warnings      []string              `json:"warnings,omitempty"`
	Busy          string                `json:"busy,omitempty"` // what others took of the CPUs meanwhile, where that was much; set by the caller
}

// PairResult is what was found out about two CPUs: what the system reports of
// them, and what measuring them says.
type PairResult struct {
	A        int      `json:"a"`
	B        int      `json:"b"`
	Reported bool     `json:"reported"` // as siblings
	Relation Relation `json:"relation"`
	Reason   string   `json:"reason"` // the signals that decided it, or why there are none

	SlowDown result.Estimate `json:"-"` // of integer work on both against alone
	PingPong result.Estimate `json:"-"` // of a cache line, one way
}

// Probe is one quick measurement.
type Probe struct {
	Name, Title string
	Share       float64 // of the whole budget, in (0, 1]
	Wide        bool    // takes whole CPUs, which a service beside it would miss
	run         func(ctx context.Context, cfg Config) (Outcome, error)
}

// Run measures. It returns soon (well under a second) after ctx is cancelled, leaves no
// file behind in any case, and may be called again. An error means that the probe itself
// is broken or was cancelled; a host on which it cannot work is Outcome.Skipped.
func (p Probe) Run(ctx context.Context, cfg Config) (Outcome, error) {
	began := time.Now()
	out, err := p.run(ctx, cfg)
	out.Probe, out.Title, out.Seconds = p.Name, p.Title, time.Since(began).Seconds()
	settle(out.Measurements)
	return out, err
}

// settle takes the evidence from what is not known: nothing was measured.
func settle(all []result.Measurement) {
	for i := range all {
		if !all[i].Known() {
			all[i].Evidence = ""
		}
	}
}

// All lists the probes in the order in which assess runs them. Their shares add up to 1.
func All() []Probe {
	return []Probe{
		{"wakeup", "Wake-up penalty", 0.40, false, (&wakeup{start: startWorker[burst.Request, burst.Reply](burst.Job), now: time.Now}).Run},
		{"siblings", "Siblings", 0.20, true, (&siblings{start: startWorker[pairRequest, pairReply](siblingsJob), now: time.Now}).Run},
		{"commit", "Latency of a durable commit", 0.20, false, runCommit},
		{"degree", "Speed-up of a cached query with its degree of parallelism", 0.20, true, degreeProbe{proc.Loads, stopsIn}.Run},
	}
}

// Pairs returns the half of the probe of siblings that finds which CPUs share a core.
func Pairs() Probe {
	s := &siblings{start: startWorker[pairRequest, pairReply](siblingsJob), now: time.Now, pairsOnly: true}
	return Probe{"siblings", "Siblings", 1, true, s.Run}
}

// Jobs lists what this package's worker processes do. A program that runs probes
// must call worker.Main(probe.Jobs()) first thing in main.
func Jobs() []worker.Job {
	return append(burst.Jobs(), worker.Job{Name: siblingsJob, New: newPairWorker})
}
