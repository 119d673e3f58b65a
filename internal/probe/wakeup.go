package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/stats"
	"hostlab/internal/workload/worker"
)

// wakeRunner executes requests: a worker process, or a fake with fixed timings.
type wakeRunner interface {
	run(wakeRequest) (wakeReply, error)
	load(cpus []int) (map[int]cpuLoad, bool)
	close()
}

// wakeup is the probe of the wake-up penalty.
type wakeup struct {
	start func(context.Context) (wakeRunner, error)
	now   func() time.Time
}

// NewWakeup returns the probe that measures what a slice of work costs on a CPU
// that has slept, against the same slice within a busy stretch: the price of the
// power policy for bursts at low load.
func NewWakeup() Probe { return &wakeup{start: startWakeSession, now: time.Now} }

func (*wakeup) Name() string   { return "wakeup" }
func (*wakeup) Title() string  { return "Wake-up penalty" }
func (*wakeup) Share() float64 { return 0.40 }

const wakeupMethod = "On one CPU of each class, pinned threads run fixed slices of dependent work right after sleeping 100 ms, " +
	"and again after at least 100 ms of the same work. The ratio of the two times within each round is what the power policy " +
	"costs a burst at low load. The kernel alu only adds in registers and so sees the clock alone; mixed also loads from a " +
	"working set of about the L2 cache and so also sees cold caches. The second busy slice of each round gives the noise floor. " +
	"Times are those on the CPU where the system counts them, so that pre-emption by others is not taken for a slow processor. " +
	"The order within a round is random; ratios are Hodges-Lehmann estimates over rounds with exact intervals. " +
	"Additions per second of a dependent chain approximate the core's clock, at one addition a cycle."

// Run implements Probe.
func (p *wakeup) Run(ctx context.Context, cfg Config) (out Outcome, err error) {
	out = Outcome{Probe: p.Name(), Title: p.Title(), Method: wakeupMethod}
	begin := p.now()
	defer func() { out.Seconds = p.now().Sub(begin).Seconds() }()

	var topo *host.Topology
	if cfg.Facts != nil {
		topo = &cfg.Facts.Topology
		if q, ok := cfg.Facts.Limits.CPUQuota.Get(); ok && q < 1 {
			out.Warnings = append(out.Warnings, fmt.Sprintf("a quota of %.2f CPUs interrupts the busy stretches", q))
		}
	}
	targets, left := wakeTargets(topo, cfg.CPUs)
	if len(targets) == 0 {
		out.Skipped = "no CPU to measure: none of those this process may use is known to be online; see `hostlab facts`"
		return out, ctx.Err()
	}
	if left > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d more classes or sockets were not measured: at most %d CPUs are", left, maxWakeTargets))
	}
	plan := planWakeup(cfg.Budget, len(targets), cfg.Alpha)
	if plan.Dropped != "" {
		out.Warnings = append(out.Warnings, fmt.Sprintf("left out, for %.0f s are too short: %s", cfg.Budget.Seconds(), plan.Dropped))
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
	r := &wakeRun{plan: plan, targets: targets, runner: runner, gone: map[int]string{},
		rates: map[wakeKey]float64{}, rnd: rand.New(rand.NewPCG(cfg.Seed, 0x77616b65))}
	r.progress = func() {
		if cfg.Report != nil {
			done := p.now().Sub(begin)
			cfg.Report(done, max(done, min(cfg.Budget, time.Duration(plan.Seconds*float64(time.Second)))))
		}
	}
	err = r.all(ctx, p.now, begin.Add(cfg.Budget))
	if err != nil {
		return out, err
	}
	out.Measurements = r.measurements(cfg.Alpha)
	if w := r.warning(); w != "" {
		out.Warnings = append(out.Warnings, w)
	}
	return out, nil
}

// wakeRun is one run of the probe.
type wakeRun struct {
	plan     wakePlan
	targets  []wakeTarget
	runner   wakeRunner
	rnd      *rand.Rand
	progress func()

	rates  map[wakeKey]float64 // operations per second while busy; Slice 0
	gone   map[int]string      // CPUs that cannot be measured, and why
	rounds []wakeSamples
}

// wakeSamples is one round: what was seen of each comparison.
type wakeSamples map[wakeKey]*wakeTriple

// wakeTriple is one slice under each condition.
type wakeTriple struct {
	Sample    [wakeConds]wakeSample
	Disturbed bool
}

// all calibrates and runs rounds: the planned ones, and while time is left
// another for each that was disturbed.
func (r *wakeRun) all(ctx context.Context, now func() time.Time, deadline time.Time) error {
	for _, t := range r.targets {
		for _, kernel := range r.plan.Kernels {
			if err := r.calibrate(ctx, t, kernel); err != nil {
				return err
			}
		}
	}
	begin := now()
	for clean := 0; clean < r.plan.Rounds && len(r.gone) < len(r.targets); {
		// Rounds take longer than planned on a CPU that is shared. The planned number is
		// worth a quarter more time than the budget, repetitions are not.
		done := len(r.rounds)
		if done > 0 {
			next := now().Add(now().Sub(begin) / time.Duration(done))
			limit := deadline
			if done < r.plan.Rounds {
				limit = deadline.Add(deadline.Sub(begin) / 4)
			}
			if next.After(limit) {
				return nil
			}
		}
		disturbed, err := r.round(ctx, now)
		if err != nil {
			return err
		}
		if !disturbed {
			clean++
		}
	}
	return nil
}

// calibrate learns how many operations of a kernel fit into a second on a CPU.
func (r *wakeRun) calibrate(ctx context.Context, t wakeTarget, kernel string) error {
	if r.gone[t.CPU] != "" {
		return nil
	}
	spin := wakeStep{Kernel: kernel, Spin: calibrating / 6}
	got, err := r.call(ctx, wakeRequest{t.CPU, t.WorkingSet, []wakeStep{spin, spin, spin}})
	if err != nil || r.gone[t.CPU] != "" {
		return err
	}
	// The first part warms up.
	n, s := float64(got[1].N+got[2].N), got[1].seconds()+got[2].seconds()
	if !(n > 0 && s > 0) {
		return fmt.Errorf("calibrating %s on CPU %d gave %g operations in %g s", kernel, t.CPU, n, s)
	}
	r.rates[wakeKey{CPU: t.CPU, Kernel: kernel}] = n / s
	return nil
}

// call sends one request. A CPU that cannot be used is noted in r.gone.
func (r *wakeRun) call(ctx context.Context, req wakeRequest) ([]wakeSample, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	reply, err := r.runner.run(req)
	switch {
	case err != nil:
		return nil, err
	case reply.Gone != "":
		r.gone[req.CPU] = reply.Gone
		return nil, nil
	case len(reply.Samples) != len(req.Steps):
		return nil, errors.New("the worker's answer does not fit the request")
	}
	r.progress()
	return reply.Samples, nil
}

// round runs one round and reports whether others disturbed it.
func (r *wakeRun) round(ctx context.Context, now func() time.Time) (bool, error) {
	perSecond := func(cpu int, kernel string) float64 { return r.rates[wakeKey{CPU: cpu, Kernel: kernel}] }
	cpus := make([]int, len(r.targets))
	for i, t := range r.targets {
		cpus[i] = t.CPU
	}
	samples, own := wakeSamples{}, map[int]float64{}
	before, _ := r.runner.load(cpus)
	begin := now()
	for _, cell := range wakeRound(r.plan, r.targets, perSecond, r.rnd) {
		cpu := cell.Target.CPU
		if r.gone[cpu] != "" {
			continue
		}
		got, err := r.call(ctx, wakeRequest{cpu, cell.Target.WorkingSet, cell.Steps})
		if err != nil {
			return false, err
		}
		for i, s := range got {
			own[cpu] += s.CPU
			role := cell.Roles[i]
			if role.Slice == 0 {
				continue
			}
			key := wakeKey{cpu, cell.Kernel, role.Slice}
			if samples[key] == nil {
				samples[key] = &wakeTriple{}
			}
			samples[key].Sample[role.Cond] = s
			samples[key].Disturbed = samples[key].Disturbed || s.disturbed()
		}
	}
	wall := now().Sub(begin).Seconds()
	after, known := r.runner.load(cpus)
	any := false
	for key, triple := range samples {
		if b, ok := before[key.CPU]; ok && known && foreignShare(b, after[key.CPU], own[key.CPU], wall) > disturbedShare {
			triple.Disturbed = true
		}
		any = any || triple.Disturbed
	}
	r.rounds = append(r.rounds, samples)
	return any, nil
}

// usable returns the rounds of one comparison that nobody disturbed, if they are
// enough for an interval, and all otherwise.
func (r *wakeRun) usable(key wakeKey, alpha float64) (rounds []*wakeTriple, disturbed int, kept bool) {
	var all []*wakeTriple
	for _, round := range r.rounds {
		// A round in which the CPU went away is not complete.
		if t := round[key]; t != nil && t.Sample[afterSleep].N > 0 && t.Sample[busy].N > 0 && t.Sample[busyAgain].N > 0 {
			all = append(all, t)
			if t.Disturbed {
				disturbed++
			} else {
				rounds = append(rounds, t)
			}
		}
	}
	if len(rounds) >= stats.MinBlocks(alpha) {
		return rounds, disturbed, false
	}
	return all, disturbed, disturbed > 0
}

// warning sums up what others did to the run.
func (r *wakeRun) warning() string {
	disturbed := 0
	for _, round := range r.rounds {
		for _, t := range round {
			if t.Disturbed {
				disturbed++
				break
			}
		}
	}
	var parts []string
	if disturbed > 0 {
		parts = append(parts, fmt.Sprintf("other work or steal took more than %.0f %% of the CPU in %d of %d rounds", disturbedShare*100, disturbed, len(r.rounds)))
	}
	for _, t := range r.targets {
		if why := r.gone[t.CPU]; why != "" {
			parts = append(parts, why)
		}
	}
	return strings.Join(parts, "; ")
}

// wakeSession is a wakeRunner that is a worker process.
type wakeSession struct{ s *worker.Session }

func startWakeSession(ctx context.Context) (wakeRunner, error) {
	s, err := worker.Start(ctx, wakeupJob, 1)
	if err != nil {
		return nil, err
	}
	return wakeSession{s}, nil
}

func (w wakeSession) run(req wakeRequest) (reply wakeReply, err error) {
	err = w.s.Call(req, &reply)
	return reply, err
}

func (w wakeSession) load(cpus []int) (map[int]cpuLoad, bool) { return readLoad(cpus) }

func (w wakeSession) close() { w.s.Close() }
