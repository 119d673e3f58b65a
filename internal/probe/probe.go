// Package probe holds the quick measurements of `hostlab assess`: what the
// platform costs right now, in about a minute, without any privilege.
//
// A probe interleaves the conditions that it compares within rounds, in random
// order, so that a drifting host cannot become an effect, and repeats one
// condition (A/A) to learn its own noise floor.
package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/worker"
)

// Config is what a probe needs to know. DefaultConfig gives usual values.
type Config struct {
	Facts  *host.Facts
	LogDir string // where the commit probe writes; absolute; "" for nowhere
	// LogDir is a server's own, which nobody named: no link on the way to it is followed
	LogFound bool
	NoLog    string                          // why LogDir is "": what is wrong and what to do
	MemDir   string                          // a tmpfs for its upper bound, "" if the host has none
	CPUs     []int                           // CPUs this process may use, ascending
	Budget   time.Duration                   // how long the probe may take; it plans its rounds to fit
	Share    float64                         // of the CPUs that it may use, where others use them too; 0: all
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
	// share of the CPUs' time that others took meanwhile, 0 where that was little; set by the caller
	Busy float64 `json:"busy,omitempty"`
}

// rest is how long to do nothing after so many CPU seconds in so many seconds, for no more
// to be used than may be.
func (c Config) rest(used, took float64) time.Duration {
	if c.Share <= 0 {
		return 0
	}
	return time.Duration(1e9 * max(0, used/c.power()-took))
}

// power is how many CPUs it may use in all.
func (c Config) power() float64 {
	if c.Share <= 0 {
		return float64(len(c.CPUs))
	}
	return c.Share * float64(len(c.CPUs))
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
	Name, Title   string
	Question, How string        // for docs/method.md
	Weight        float64       // its part of the time, beside those of the others
	Shown         []result.Kind // what a terminal shows of it, in this order
	run           func(ctx context.Context, cfg Config) (Outcome, error)
}

// Share is a probe's part of the time that all have.
func (p Probe) Share() float64 {
	sum := 0.0
	for _, each := range All() {
		sum += each.Weight
	}
	return p.Weight / sum
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

// All lists the probes in the order in which assess runs them.
func All() []Probe {
	return []Probe{
		{
			Name: "wakeup", Title: "Wake-up penalty", Weight: 2,
			run:      (&wakeup{start: startWorker[burstRequest, burstReply](burstJob), now: time.Now}).Run,
			Question: "What does a burst of work cost right after a pause?",
			How:      "bursts of 10, 30 and 100 ms after 100 ms of sleep, against the same without a pause; arithmetic shows the clock, memory reads show cold caches",
			Shown:    []result.Kind{WakeALU, WakeMixed, WakeCold, LateMedian},
		}, {
			Name: "siblings", Title: "Siblings", Weight: 1,
			run:      (&siblings{start: startWorker[pairRequest, pairReply](siblingsJob), now: time.Now}).Run,
			Question: "Which CPUs share a core? What does a memory scan on one do to a lock on the other?",
			How:      "short loops that fill a core's ports, alone and together; a dependent chain as control; cache-line ping-pong",
			Shown:    []result.Kind{SlowDown, HarmSibling, HarmOther},
		}, {
			Name: "commit", Title: "Latency of a durable commit", Weight: 1, run: runCommit,
			Question: "What does a durable commit cost? What would the fastest device give?",
			How:      "4 KiB append and fdatasync in the log directory, against the same in memory",
			Shown: []result.Kind{Recycled.Of(Mean), Recycled.Of(Tail), Recycled.Of(Median), NewBlocks.Of(Mean),
				NewBlocks.Of(Tail), InMemory.Of(Mean),
				CommitDrift},
		}, {
			Name: "degree", Title: "Speed-up of a cached query with its degree of parallelism", Weight: 1,
			run:      degreeProbe{proc.Loads, stopsIn}.Run,
			Question: "How does a cached, CPU-bound query speed up?", How: "1, 2, 4, ... all CPUs parse XML rows",
			Shown: []result.Kind{SpeedUp},
		},
	}
}

// Help lists the probes and their questions, in 80 columns.
func Help() string {
	var b strings.Builder
	for _, p := range All() {
		for i, line := range screen.Wrap(p.Question, 67) {
			fmt.Fprintf(&b, "  %-9s  %s\n", map[bool]string{true: p.Name}[i == 0], line)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Pairs returns the half of the probe of siblings that finds which CPUs share a core.
func Pairs() Probe {
	s := &siblings{start: startWorker[pairRequest, pairReply](siblingsJob), now: time.Now, pairsOnly: true}
	return Probe{Name: "siblings", Title: "Siblings", Weight: 1, run: s.Run}
}

// Jobs lists what this package's worker processes do. A program that runs probes
// must call worker.Main(probe.Jobs()) first thing in main.
func Jobs() []worker.Job {
	return []worker.Job{{Name: burstJob, New: newBurstServer}, {Name: siblingsJob, New: newPairWorker}}
}

// Alpha gives the 95 % intervals of all probes.
const Alpha = 0.05

// BusyShare is the part of the CPUs' time that others may take during a probe
// before the report says so.
const BusyShare = 0.05

// Run runs one probe. Only cancellation is an error: a probe that breaks is
// reported in its outcome, and the others go on.
func Run(ctx context.Context, pr Probe, cfg Config) (Outcome, error) {
	others := proc.Watch(cfg.CPUs)
	out, err := pr.Run(ctx, cfg)
	if ctx.Err() != nil {
		// Probes join what they could not clean up to the context's error.
		var several interface{ Unwrap() []error }
		if errors.As(err, &several) {
			for _, e := range several.Unwrap() {
				if !errors.Is(e, ctx.Err()) {
					return out, fmt.Errorf("%w; %w", ctx.Err(), e)
				}
			}
		}
		return out, ctx.Err()
	}
	if err != nil {
		out.Failed = err.Error()
	}
	if share, ok := others.Share(); ok && share > BusyShare && out.Skipped == "" {
		out.Busy = share
	}
	slog.Info("probe done", "probe", out.Probe, "seconds", out.Seconds, "measurements", len(out.Measurements), "skipped",
		out.Skipped, "failed", out.Failed)
	return out, nil
}

// quotaPeriods is how many periods of a CPU quota a run lasts at least: a run that
// ends within one may find that period's whole quota and see no limit.
const quotaPeriods = 5

// cpuLimit is a control group's limit on CPU time.
type cpuLimit struct {
	cpus   float64       // 0: none
	file   string        // cpu.stat of the group that sets it; "" if not known
	period time.Duration // after which it is filled up again
}

// limitOf finds the limit that hostlab itself is under, if it is less than n CPUs.
// Beside the file with the quota lies cpu.stat, in version 1 as in 2.
func limitOf(facts *host.Facts, n int) cpuLimit {
	if facts == nil {
		return cpuLimit{}
	}
	f := facts.Limits.CPUQuota
	quota, ok := f.Get()
	if !ok || quota >= float64(n) {
		return cpuLimit{}
	}
	l := cpuLimit{cpus: quota, period: 100 * time.Millisecond} // the kernel's default
	if !filepath.IsAbs(f.Source) {
		return l
	}
	dir := filepath.Dir(f.Source)
	l.file = filepath.Join(dir, "cpu.stat")
	var period string
	if b, err := os.ReadFile(filepath.Join(dir, "cpu.cfs_period_us")); err == nil {
		period = strings.TrimSpace(string(b))
	} else if b, err := os.ReadFile(filepath.Join(dir, "cpu.max")); err == nil {
		if f := strings.Fields(string(b)); len(f) == 2 {
			period = f[1]
		}
	}
	if us, err := strconv.Atoi(period); err == nil && us > 0 {
		l.period = time.Duration(us) * time.Microsecond
	}
	return l
}

// stops are how many periods there were, and in how many the quota stopped threads.
type stops struct{ periods, throttled int }

// stopsIn reads cpu.stat.
func stopsIn(file string) (stops, bool) {
	m, _ := proc.Keyed(file)
	periods, ok := m["nr_periods"]
	throttled, too := m["nr_throttled"]
	return stops{int(periods), int(throttled)}, ok && too
}
