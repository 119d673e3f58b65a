package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/thread"
)

// siblings is the probe that finds by measurement which CPUs are threads of one core,
// and what a thread that scans memory costs one that takes a lock, on a sibling and on
// another core.
type siblings struct {
	start     func(context.Context) (runner[pairRequest, pairReply], error)
	now       func() time.Time
	pairsOnly bool // without the harm of a scanner
}

const pairsMethod = "For pairs of CPUs, two pinned threads run chunks of about 30 us that fill the integer or the " +
	"floating-point ports, alone and together, in random order within rounds; medians of chunks hold where means do not. Two " +
	"threads of one core slow each other by 1.30 or more in both directions, while a chain of additions, as a control, stays " +
	"within 1.10, and a cache line goes between them as fast as anywhere on the host. At most 1.15 means two cores. Unchanged " +
	"chunks at 1.5 times the elapsed time mean that one CPU serves both in turn. Everything else is called unknown. The " +
	"thresholds were set from published figures and from hosts without siblings; no host with siblings was at hand to confirm them."

const harmMethod = " Then a thread takes and releases a lock of its own " +
	"while another CPU is idle or scans twice the L2 cache with stores: the ratio of acquisitions per second to those alone."

func (p *siblings) Run(ctx context.Context, cfg Config) (out Outcome, err error) {
	out.Method = pairsMethod
	if !p.pairsOnly {
		out.Method += harmMethod
	}
	begin := p.now()
	if len(cfg.CPUs) < 2 {
		out.Skipped = fmt.Sprintf(
			"%d CPU may be used here: it takes two to find out what they share; run it without taskset, or in "+
				"a cgroup with more CPUs", len(cfg.CPUs))
		return out, ctx.Err()
	}
	topo := &host.Topology{}
	if cfg.Facts != nil {
		topo = &cfg.Facts.Topology
	}
	rnd := rand.New(rand.NewPCG(cfg.Seed, 0x7369626c))
	budget := cfg.Budget
	if p.pairsOnly {
		budget *= 2 // the plan gives half to the harm
	}
	plan := planSiblings(budget, len(cfg.CPUs), min(1, cfg.power()/2), cfg.Alpha)
	reported := reportedSiblings(topo)
	pairs, of := choosePairs(cfg.CPUs, reported, plan.Pairs, rnd)
	if len(pairs) < of {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d of %d pairs of CPUs were tried; the others are not known",
			len(pairs),
			of))
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
	r := &siblingsRun{plan: plan, rest: cfg.rest, runner: runner, rnd: rnd, alpha: cfg.Alpha, reported: reported,
		topo: topo,
		cpus: cfg.CPUs, now: p.now, begin: begin}
	r.progress = func() {
		if cfg.Report != nil {
			done := p.now().Sub(begin)
			cfg.Report(done, max(done, cfg.Budget))
		}
	}
	for _, pr := range pairs {
		r.pairs = append(r.pairs, &pairRun{pair: pr, reported: reported[pr]})
	}
	if err := r.tryPairs(ctx); err != nil {
		return out, err
	}
	out.Pairs, out.Measurements = r.pairResults()
	out.Warnings = append(out.Warnings, disagreements(out.Pairs)...)
	if p.pairsOnly {
		return out, nil
	}
	harm, err := r.harm(ctx, cfg.Budget)
	out.Measurements = append(out.Measurements, harm...)
	return out, err
}

// disagreements compares what was measured with what the system reports.
func disagreements(pairs []PairResult) []string {
	var out []string
	for _, p := range pairs {
		switch p.Relation {
		case Siblings:
			if !p.Reported {
				out = append(out,
					fmt.Sprintf("CPUs %d and %d share a core, and the system does not say so: the hypervisor hides it (%s)",
						p.A, p.B, p.Reason))
			}
		case Separate:
			if p.Reported {
				out = append(out,
					fmt.Sprintf("CPUs %d and %d are reported as siblings and do not behave so: the reported topology is made "+
						"up (%s)", p.A, p.B, p.Reason))
			}
		case TimeShared:
			out = append(out,
				fmt.Sprintf("CPUs %d and %d take turns on one CPU: the hypervisor has fewer free than this guest uses (%s)",
					p.A, p.B, p.Reason))
		}
	}
	return out
}

type siblingsRun struct {
	plan     siblingsPlan
	runner   runner[pairRequest, pairReply]
	rnd      *rand.Rand
	alpha    float64
	reported map[pair]bool
	topo     *host.Topology
	cpus     []int
	pairs    []*pairRun
	now      func() time.Time
	begin    time.Time
	used     float64 // CPU seconds of the worker process so far
	rest     func(used, took float64) time.Duration
	progress func()
}

// tryPairs runs rounds over all pairs, and further ones over those that stay
// undecided, while there is time.
func (r *siblingsRun) tryPairs(ctx context.Context) error {
	deadline := r.begin.Add(r.plan.PairTime)
	for round := range r.plan.MaxRounds {
		var open []*pairRun
		for _, p := range r.pairs {
			if p.gone == "" && (round < r.plan.Rounds || p.relation == UnknownPair) {
				open = append(open, p)
			}
		}
		// The planned rounds may take half as long again on a busy host.
		limit := deadline
		if round < r.plan.Rounds {
			limit = deadline.Add(r.plan.PairTime / 2)
		}
		if len(open) == 0 || (round > 0 && r.now().After(limit)) {
			break
		}
		r.rnd.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
		for _, p := range open {
			if err := r.pairRound(ctx, p); err != nil {
				return err
			}
		}
		for _, p := range open {
			p.again(r.plan.Rounds)
		}
		if round+1 >= r.plan.Rounds {
			r.classify()
		}
	}
	for _, p := range r.pairs {
		// A set that a lack of time cut short gives way to the quietest one.
		if q := p.quietest; q != nil && p.relation == UnknownPair &&
			(len(p.samples) < len(q.samples) || p.company.share() > q.company.share()) {
			p.samples, p.company = q.samples, q.company
		}
	}
	r.classify()
	return nil
}

// again starts a pair over when others disturbed a whole set of rounds, keeping the
// quietest set: pairRepeats times, then the pair is contaminated.
func (p *pairRun) again(set int) {
	if len(p.samples) < set || p.gone != "" {
		return
	}
	if p.quietest == nil || p.company.share() < p.quietest.company.share() {
		p.quietest = &pairSet{p.samples, p.company}
	}
	if p.company.share() > crowded && p.repeats < pairRepeats {
		p.repeats++
		p.samples, p.company = nil, company{}
	}
}

// crowded is the share of two CPUs' time that others may take. That they are beside every one
// of 16 chunk cells of a thread alone has a chance of 0.3 % then.
const crowded = 0.7

// pairRepeats is how often a pair that others disturbed is measured again.
const pairRepeats = 3

type pairSet struct {
	samples []*pairSample
	company company
}

// company is what others did on the CPUs of a pair, in seconds.
type company struct {
	others      [2]float64 // what others used of each CPU
	wall        float64    // of how much time
	waited, ran float64    // how long our threads waited for others there, of how long
}

// share is the largest of the shares: of each CPU's time and of the threads'. The
// first count in clock ticks, of which two may be chance.
func (c company) share() float64 {
	var out float64
	if c.wall > 0 {
		out = max(0, c.others[0]-2*proc.Tick.Seconds(), c.others[1]-2*proc.Tick.Seconds()) / c.wall
	}
	if c.ran > 0 {
		out = max(out, c.waited/c.ran)
	}
	return min(1, out)
}

// settleChunks bring both CPUs out of their sleep before a pair's cells.
const settleChunks = 300

// pairRound measures all cells of one pair once, in random order.
func (r *siblingsRun) pairRound(ctx context.Context, p *pairRun) error {
	both, a, b := []int{p.A, p.B}, []int{p.A}, []int{p.B}
	const settle, again = -2, -1
	type cell struct {
		kind string
		cpus []int
		slot int // of the first CPU in a sample, or one of the above
	}
	cells := []cell{{cellALU, a, again}, {cellPingPong, both, 0}}
	for _, kind := range []string{cellALU, cellFMA, cellControl} {
		cells = append(cells, cell{kind, a, 0}, cell{kind, b, 1}, cell{kind, both, 2})
	}
	r.rnd.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	cells = append([]cell{{cellControl, both, settle}}, cells...)
	sample := &pairSample{Side: map[string]*[4]side{cellALU: {}, cellFMA: {}, cellControl: {}}}
	before, _ := r.runner.load(both)
	began, own := r.now(), proc.Own()+r.used
	for _, c := range cells {
		req := pairRequest{Kind: c.kind, CPUs: c.cpus, Chunks: r.plan.Chunks}
		if c.slot == settle {
			req.Chunks = settleChunks
		}
		got, err := r.call(ctx, req)
		if errors.Is(err, thread.ErrNoCPU) {
			p.gone = err.Error()
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case c.kind == cellPingPong:
			sample.PingPong = got.PingPong
		case c.slot == again:
			sample.Again = got.Sides[0].Median
		case c.slot >= 0:
			copy(sample.Side[c.kind][c.slot:], got.Sides)
		}
		for _, s := range got.Sides {
			if s.HasWaited {
				p.company.waited += s.Waited
				p.company.ran += s.Wall
			}
		}
	}
	own = proc.Own() + r.used - own
	if after, ok := r.runner.load(both); ok {
		wall := r.now().Sub(began).Seconds()
		p.company.wall += wall
		for i, cpu := range both { // we use both alike
			p.company.others[i] += after[cpu].Busy - before[cpu].Busy - own/2
		}
	}
	p.samples = append(p.samples, sample)
	return nil
}

func (r *siblingsRun) call(ctx context.Context, req pairRequest) (pairReply, error) {
	if err := ctx.Err(); err != nil {
		return pairReply{}, err
	}
	began := r.now()
	got, err := r.runner.run(req)
	if err != nil {
		return got, err
	}
	if err := proc.Sleep(ctx, r.rest(got.Used-r.used, r.now().Sub(began).Seconds())); err != nil {
		return got, err
	}
	if want := len(req.CPUs); req.Kind != cellPingPong && len(got.Sides)+len(got.Locks) != want {
		return got, fmt.Errorf("the worker answered for %d CPUs, asked for %d", len(got.Sides)+len(got.Locks), want)
	}
	r.used = max(r.used, got.Used)
	r.progress()
	return got, nil
}
