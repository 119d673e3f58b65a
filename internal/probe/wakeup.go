package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/thread"
)

// wakeup is the probe that measures what a slice of work costs on a CPU that has slept,
// against the same slice within a busy stretch: the price of the power policy for bursts
// at low load.
type wakeup struct {
	start func(context.Context) (runner[burstRequest, burstReply], error)
	now   func() time.Time
}

const wakeupMethod = "On one CPU of each class, pinned threads run fixed slices of dependent work right after sleeping 100 ms, " +
	"and again after at least 100 ms of the same work. The ratio of the two times within each round is what a pause costs a " +
	"burst at low load. The kernel alu only adds in registers and so sees the clock alone; mixed also loads from three quarters " +
	"of the L2 cache, each load waiting for the last, and so shows the most that cold caches cost, not what they usually do. A " +
	"busy stretch of each round is run twice, on threads of their own, for the noise floor. A pause in which others used the CPU " +
	"is no pause: its round is left out if enough are left. Slices do not see how long the CPU takes to wake; that is how late " +
	"the thread is back from its sleep, without what it waits for others. Times are those on the CPU where the system counts " +
	"them, so that pre-emption by others is not taken for a slow processor. The order within a round is random; ratios are " +
	"Hodges-Lehmann estimates over rounds with exact intervals. Additions per second of a dependent chain approximate the core's " +
	"clock, at one addition a cycle."

func (p *wakeup) Run(ctx context.Context, cfg Config) (out Outcome, err error) {
	out.Method = wakeupMethod
	begin := p.now()
	var topo *host.Topology
	if cfg.Facts != nil {
		topo = &cfg.Facts.Topology
		if q, ok := cfg.Facts.Limits.CPUQuota.Get(); ok && q < 1 {
			out.Warnings = append(out.Warnings, fmt.Sprintf("a quota of %.2f CPUs interrupts the busy stretches", q))
		}
	}
	targets, left := wakeTargets(topo, cfg.CPUs)
	if len(targets) == 0 {
		out.Skipped = "no CPU to measure: none of those this process may use is known to be online; see 'hostlab facts'"
		return out, ctx.Err()
	}
	if left > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d more classes or sockets were not measured: at most %d CPUs are",
			left,
			maxWakeTargets))
	}
	plan := planWakeup(cfg.Budget, len(targets), cfg.power(), cfg.Alpha)
	if plan.Dropped != "" {
		out.Warnings = append(out.Warnings, fmt.Sprintf("left out, because %.0f s is too short: %s", cfg.Budget.Seconds(),
			plan.Dropped))
	}

	runner, err := p.start(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		out.Skipped = err.Error()
		return out, nil
	}
	defer runner.close()
	r := &wakeRun{plan: plan, rest: cfg.rest, targets: targets, runner: runner, gone: map[int]string{},
		rates: map[wakeKey]float64{}, pauses: map[int][]wakePauses{}, climbs: map[wakeKey][]float64{},
		rnd: rand.New(rand.NewPCG(cfg.Seed, 0x77616b65))}
	r.progress = func() {
		if cfg.Report != nil {
			done := p.now().Sub(begin)
			cfg.Report(done, max(done, min(cfg.Budget, time.Duration(plan.Seconds*float64(time.Second)))))
		}
	}
	err = r.all(ctx, pace{now: p.now, began: begin, budget: cfg.Budget, planned: plan.Rounds, over: cfg.Budget / 4})
	if err != nil {
		return out, err
	}
	out.Measurements = r.measurements(cfg.Alpha)
	if w := r.warning(); w != "" {
		out.Warnings = append(out.Warnings, w)
	}
	return out, nil
}

type wakeRun struct {
	plan     wakePlan
	targets  []wakeTarget
	runner   runner[burstRequest, burstReply]
	rnd      *rand.Rand
	rest     func(used, took float64) time.Duration
	progress func()

	rates  map[wakeKey]float64 // operations per second while busy; Slice 0
	gone   map[int]string      // CPUs that cannot be measured, and why
	rounds []wakeSamples
	pauses map[int][]wakePauses // by CPU, of each round
	slept  [2]int               // pauses in which the CPU was idle, and those in which others had it
	climbs map[wakeKey][]float64
}

// wakeSamples is one round: what was seen of each comparison.
type wakeSamples map[wakeKey]*wakeTriple

// wakeTriple is one slice under each condition.
type wakeTriple struct {
	Sample [wakeConds]burstSample
	Spoilt spoil
}

// spoil is what others did to a comparison in a round. Of several the first counts: a
// CPU that was not idle had no pause, whatever happened to its slices.
type spoil int

const (
	unspoilt spoil = iota
	notIdle        // the CPU was not idle in the pause
	offCPU         // the thread was off its CPU in a slice
	stolen         // the hypervisor took the CPU (steal)
)

// and joins what two looks at one round saw.
func (s spoil) and(more spoil) spoil {
	if s == unspoilt || more != unspoilt && more < s {
		return more
	}
	return s
}

// wakePauses are the ends of one round's sleeps and spins on a CPU: seconds late.
type wakePauses struct {
	late, awake, spun []float64 // of idle sleeps; of those that were not; of spins
}

// all calibrates and runs rounds: the planned ones, and while time is left
// another for each that was disturbed.
func (r *wakeRun) all(ctx context.Context, pace pace) error {
	for _, t := range r.targets {
		for _, kernel := range r.plan.Kernels {
			if err := r.calibrate(ctx, t, kernel.Name); err != nil {
				return err
			}
		}
	}
	return pace.run(func() (clean bool, err error) {
		if len(r.gone) == len(r.targets) {
			return false, errEnough
		}
		return r.round(ctx, pace.now)
	})
}

// calibrate learns how many operations of a kernel fit into a second on a CPU.
func (r *wakeRun) calibrate(ctx context.Context, t wakeTarget, kernel string) error {
	if r.gone[t.CPU] != "" {
		return nil
	}
	spin := burstStep{Kernel: kernel, Spin: r.plan.Spin * calibrating / 6}
	got, err := r.call(ctx, burstRequest{CPU: t.CPU, WorkingSet: t.WorkingSet, Steps: []burstStep{spin, spin, spin}})
	if err != nil || r.gone[t.CPU] != "" {
		return err
	}
	// The first part warms up.
	n, s := float64(got[1].N+got[2].N), got[1].Seconds()+got[2].Seconds()
	if !(n > 0 && s > 0) {
		return fmt.Errorf("calibrating %s on CPU %d gave %g operations in %g s", kernel, t.CPU, n, s)
	}
	r.rates[wakeKey{CPU: t.CPU, Kernel: kernel}] = n / s
	return nil
}

// call sends one request. A CPU that cannot be used is noted in r.gone.
func (r *wakeRun) call(ctx context.Context, req burstRequest) ([]burstSample, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	reply, err := r.runner.run(req)
	switch {
	case errors.Is(err, thread.ErrNoCPU):
		r.gone[req.CPU] = err.Error()
		return nil, nil
	case err != nil:
		return nil, err
	case len(reply.Samples) != len(req.Steps):
		return nil, errors.New("the worker's answer does not fit the request")
	}
	r.progress()
	used, took := 0.0, 0.0
	for i, s := range req.Steps {
		took += s.Sleep
		if s.Sleep == 0 {
			used += reply.Samples[i].Seconds()
			took += reply.Samples[i].Wall
		}
	}
	if rest := r.rest(used, took).Seconds(); rest > 0 {
		_, err = r.runner.run(burstRequest{CPU: req.CPU, WorkingSet: req.WorkingSet, Steps: []burstStep{{Sleep: rest}}})
	}
	return reply.Samples, err
}

// tries is how often a pause is made in a round until the CPU is idle in it. It costs nobody
// anything.
const tries = 4

// play runs a cell, and again where others had the CPU in its pause. Where they have it in
// all of them, more tries would not help.
func (r *wakeRun) play(ctx context.Context, cell wakeCell,
	pauses *wakePauses) (got []burstSample, woken bool, err error) {
	for range tries {
		got, err = r.call(ctx, burstRequest{CPU: cell.Target.CPU, WorkingSet: cell.Target.WorkingSet, Steps: cell.Steps})
		if err != nil || got == nil {
			return nil, false, err
		}
		at := slices.IndexFunc(cell.Steps, func(s burstStep) bool { return s.Sleep > 0 })
		woken = at >= 0 && !idle(got[at], cell.Steps[at].Sleep)
		for i, s := range got {
			pauses.add(cell.Steps[i], s)
		}
		if at >= 0 {
			r.slept[map[bool]int{false: 0, true: 1}[woken]]++
		}
		if !woken || r.slept[0] == 0 && r.slept[1] >= 3*tries {
			break
		}
	}
	return got, woken, nil
}

// round runs one round and reports whether nobody disturbed it.
func (r *wakeRun) round(ctx context.Context, now func() time.Time) (bool, error) {
	perSecond := func(cpu int, kernel string) float64 { return r.rates[wakeKey{CPU: cpu, Kernel: kernel}] }
	cpus := make([]int, len(r.targets))
	for i, t := range r.targets {
		cpus[i] = t.CPU
	}
	samples := wakeSamples{}
	pauses, foreign, slept := map[int]*wakePauses{}, map[int]float64{}, map[int]float64{}
	before, _ := r.runner.load(cpus)
	begin := now()
	for _, cell := range wakeRound(r.plan, r.targets, perSecond, r.rnd) {
		cpu := cell.Target.CPU
		if r.gone[cpu] != "" {
			continue
		}
		if pauses[cpu] == nil {
			pauses[cpu] = &wakePauses{}
		}
		got, woken, err := r.play(ctx, cell, pauses[cpu])
		if err != nil {
			return false, err
		}
		for i, s := range got {
			if sleep := cell.Steps[i].Sleep; sleep > 0 && s.HasForeign {
				foreign[cpu] += s.Foreign
				slept[cpu] += sleep
			}
			role := cell.Roles[i]
			if role.Slice == 0 {
				continue
			}
			key := wakeKey{cpu, cell.Kernel, role.Slice}
			if samples[key] == nil {
				samples[key] = &wakeTriple{}
			}
			triple := samples[key]
			triple.Sample[role.Cond] = s
			switch {
			case woken:
				triple.Spoilt = triple.Spoilt.and(notIdle)
			case disturbed(s):
				triple.Spoilt = triple.Spoilt.and(offCPU)
			}
		}
		if got == nil {
			continue
		}
		if up := cell.climb(got); up > 0 {
			key := wakeKey{CPU: cpu, Kernel: cell.Kernel}
			r.climbs[key] = append(r.climbs[key], up)
		}
	}
	wall := now().Sub(begin).Seconds()
	after, known := r.runner.load(cpus)
	clean := true
	for key, triple := range samples {
		// Little by little others may take more than the ticks of one pause show.
		if foreign[key.CPU]-2*proc.Tick.Seconds() > disturbedShare*slept[key.CPU] {
			triple.Spoilt = notIdle
		}
		if b, ok := before[key.CPU]; ok && known {
			if steal := after[key.CPU].Steal - b.Steal; steal-proc.Tick.Seconds() > disturbedShare*wall {
				triple.Spoilt = triple.Spoilt.and(stolen)
			}
		}
		clean = clean && triple.Spoilt == unspoilt
	}
	for cpu, p := range pauses {
		r.pauses[cpu] = append(r.pauses[cpu], *p)
	}
	r.rounds = append(r.rounds, samples)
	return clean, nil
}

// idle reports whether the CPU was idle in a sleep of so many seconds, as far as
// is known. A sleep of 100 ms is ten clock ticks long: one of them may be chance.
func idle(s burstSample, sleep float64) bool {
	return !s.HasForeign || s.Foreign-proc.Tick.Seconds() <= disturbedShare*sleep
}

// disturbed reports whether the thread was off its CPU for more than it may be.
func disturbed(s burstSample) bool {
	return s.HasCPU && s.Wall-s.CPU > disturbedShare*s.Wall
}

// add sorts what one step says of being on time.
func (p *wakePauses) add(step burstStep, s burstSample) {
	switch {
	case !s.HasLate, s.Queued > s.Late: // it waited before or after its sleep too
	case step.Sleep > 0 && idle(s, step.Sleep):
		p.late = append(p.late, s.Late-s.Queued)
	case step.Sleep > 0:
		p.awake = append(p.awake, s.Late-s.Queued)
	case step.Spin >= gentle/2 && !disturbed(s):
		p.spun = append(p.spun, s.Late)
	}
}

// complete reports whether no condition of the triple is missing, as it is in a
// round in which the CPU went away.
func (t *wakeTriple) complete() bool {
	return t != nil && t.Sample[afterSleep].N > 0 && t.Sample[busy].N > 0 && t.Sample[busyAgain].N > 0
}

// usedRounds are the rounds of a comparison that count.
type usedRounds struct {
	use   []wakeSamples
	clean int // of all that nobody disturbed
	awake int // of use in whose pause others had the CPU
	of    int // all
}

// usable returns the rounds of one comparison, or of several jointly, that nobody disturbed,
// if they are enough for an interval; else those in whose pause the CPU was idle, for times
// are those on the CPU; else all.
func (r *wakeRun) usable(alpha float64, keys ...wakeKey) (u usedRounds) {
	by := func(round wakeSamples) (spoilt spoil) {
		for _, key := range keys {
			spoilt = spoilt.and(round[key].Spoilt)
		}
		return spoilt
	}
	lacks := func(round wakeSamples) bool {
		return slices.ContainsFunc(keys, func(key wakeKey) bool { return !round[key].complete() })
	}
	all := slices.DeleteFunc(slices.Clone(r.rounds), lacks)
	u.of = len(all)
	if u.use, u.clean = undisturbed(all, func(round wakeSamples) bool { return by(round) == unspoilt },
		alpha); len(u.use) == u.clean {
		return u
	}
	var idle int
	if u.use, idle = undisturbed(all, func(round wakeSamples) bool { return by(round) != notIdle },
		alpha); len(u.use) > idle {
		u.awake = u.of - idle
	}
	return u
}

// seconds are the times of one condition in the rounds that count.
func (u usedRounds) seconds(key wakeKey, cond wakeCond) []float64 {
	return column(u.use, func(round wakeSamples) float64 { return round[key].Sample[cond].Seconds() })
}

// warning sums up what others did to the run.
func (r *wakeRun) warning() string {
	disturbed := 0
	for _, round := range r.rounds {
		for _, t := range round {
			if t.Spoilt != unspoilt {
				disturbed++
				break
			}
		}
	}
	var parts []string
	if disturbed > 0 {
		parts = append(parts, fmt.Sprintf("other work or steal took more than %.0f %% of the CPU in %d of %d rounds",
			disturbedShare*100, disturbed, len(r.rounds)))
	}
	for _, t := range r.targets {
		if why := r.gone[t.CPU]; why != "" {
			parts = append(parts, why)
		}
	}
	return strings.Join(parts, "; ")
}
