package dialog

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"hostlab/internal/hot"
	"hostlab/internal/model"
	"hostlab/internal/thread"
	"hostlab/internal/worker"
)

const job = "dialog"

// Jobs lists what this package's worker processes do.
func Jobs() []worker.Job { return []worker.Job{{Name: job, New: newServer}} }

// reply is what a run gave, in seconds; of steps that began after the warm-up.
type reply struct {
	Rate    float64   // operations a second at full speed, where that was asked for
	Step    []float64 // from the intended start to the end
	CPU     []float64 // time on the CPU, inserted spins included
	Waited  []float64 // ready, but not on a CPU
	Demand  []float64 // work at full speed
	Steps   int       // those of the warm-up too
	Late    []float64 // of slices that found an idle CPU: from their moment to their start
	Span    float64   // from the end of the warm-up to that of the last step
	HasCPU  bool
	Process float64 // CPU time of the process for a step, where that of threads is unknown; 0: unknown, too
}

func (r *reply) add(s *step, now time.Duration) {
	r.Step = append(r.Step, (now - s.arrived).Seconds())
	r.CPU = append(r.CPU, s.cpu.Seconds())
	r.Waited = append(r.Waited, s.waited.Seconds())
	r.Demand = append(r.Demand, s.demand)
}

func newServer() worker.Func {
	return worker.Handle(func(p plan) (r reply, err error) {
		debug.FreeOSMemory() // of the run before; the collector is off in workers
		if p.Rate == 0 {
			r.Rate, err = calibrated(p.CPUs)
		} else {
			r, err = p.run()
		}
		return r, err
	})
}

// calibrated is the rate of the first CPU. It visits all of them, which tells whether
// they can be used.
func calibrated(cpus []int) (rate float64, err error) {
	for i, cpu := range cpus {
		err := <-thread.On(cpu, func() error {
			if i == 0 {
				rate = calibrate()
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return rate, nil
}

// run does a run in this process, which must be a worker.
func (p plan) run() (reply, error) {
	clocks, err := p.clocks()
	if err != nil {
		return reply{}, err
	}
	x, err := newPool(p)
	if err != nil {
		return reply{}, err
	}
	defer x.close()
	_, hasCPU := thread.CPUTime()
	x.result.HasCPU = hasCPU
	before, hasProcess := thread.ProcessCPU()
	// The clock starts when all threads are on their CPUs.
	var once sync.Once
	var start time.Time
	limit := ns(p.WarmUp+p.Duration)*4 + time.Minute // no thread gets on its CPU
	err = thread.Together(p.CPUs, limit, func(side int, abort *atomic.Bool) error {
		if abort.Load() {
			return nil // another one says why
		}
		once.Do(func() { start = time.Now() })
		c := newCore(clocks[side], p.Rate, start)
		x.loop(x.units[side], c.now, func(s *step, seconds float64) time.Duration {
			return c.work(&s.task, max(1, uint64(seconds*p.Rate)))
		}, c.idle)
		return nil
	})
	if err == nil {
		err = x.broken
	}
	if err != nil {
		return reply{}, err
	}
	if after, _ := thread.ProcessCPU(); hasProcess && !hasCPU && x.result.Steps > 0 {
		x.result.Process = (after - before).Seconds() / float64(x.result.Steps)
	}
	x.result.Span = (max(x.last, x.end) - x.from).Seconds()
	return x.result, nil
}

// clocks are the emulated ones of the CPUs, nil without a policy.
func (p plan) clocks() ([]*model.Clock, error) {
	out := make([]*model.Clock, len(p.CPUs))
	if p.Policy == "" {
		return out, nil
	}
	policy, err := model.ParsePolicy(p.Policy)
	if err != nil {
		return nil, err
	}
	phases := stream(p.Seed, forPhase)
	for i := range out {
		if out[i], err = model.NewClock(policy, model.Stepped(len(p.CPUs), p.Floor), phases.Float64()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// chunk is how much work is done at full speed before the spin that makes up for the
// slow clock: longer than a spin's overhead by far, shorter than all that a governor
// or a slice could tell.
const chunk = 500 * time.Microsecond

// spinAdds is a piece of a spin, less than a microsecond: after it the clock is read.
const spinAdds = 1024

// core runs work on one CPU, slowed down as its emulated clock says. Its functions
// are fields so that tests can put time of their own in their place.
type core struct {
	clock *model.Clock         // nil: the host's own clock
	chunk uint64               // operations
	now   func() time.Duration // since the run began
	used  func() time.Duration // CPU time of the thread; now, where that is not known
	adds  func(n uint64) uint64
	lost  time.Duration // that others had the CPU in the midst of work
}

func newCore(clock *model.Clock, rate float64, start time.Time) *core {
	c := &core{clock: clock, chunk: max(1, uint64(rate*chunk.Seconds())), adds: hot.Adds,
		now: func() time.Duration { return time.Since(start) }}
	c.used = func() time.Duration { t, _ := thread.CPUTime(); return t }
	if _, ok := thread.CPUTime(); !ok {
		c.used = c.now
	}
	return c
}

// work does n operations for a task. After each chunk it spins for as long as the slow
// clock would still have needed. What others take from the CPU is no progress, and no
// time for the governor either: it sees this workload alone, so that company makes
// steps longer but does not change what a policy costs. A change of speed in the midst
// of a spin counts from its moment on. It returns the time on the CPU, spins included.
func (c *core) work(task *model.Task, n uint64) time.Duration {
	wall, begin := c.now(), c.used()
	speed := func(at time.Duration) float64 { return c.clock.Speed(wall - c.lost + at - begin) }
	if c.clock == nil {
		speed = func(time.Duration) float64 { return 1 }
	} else {
		c.clock.Start(wall-c.lost, task)
	}
	at, owed := begin, 0.0 // ns of work that the slow clock has not done yet
	for n > 0 {
		k := min(n, c.chunk)
		n -= k
		share := speed(at)
		c.adds(k)
		t := c.used()
		owed += float64(t-at) * (1 - share)
		for at = t; owed > 0; at = t {
			c.adds(spinAdds)
			t = c.used()
			owed -= float64(t-at) * speed(t)
		}
	}
	c.lost += max(0, c.now()-wall-(at-begin))
	return at - begin
}

// idle tells the governor that there is no work.
func (c *core) idle() {
	if c.clock != nil {
		c.clock.Stop(c.now() - c.lost)
	}
}

// calibrate counts the operations per second of this thread's CPU at full speed: the
// best of many short stretches, after a while in which the clock comes up.
func calibrate() float64 {
	c := newCore(nil, 1, time.Now())
	best, n := 0.0, uint64(1<<20)
	for begin := time.Now(); time.Since(begin) < 150*time.Millisecond; {
		from := c.used()
		did := c.adds(n)
		if took := c.used() - from; took > 0 {
			best = max(best, float64(did)/took.Seconds())
		}
	}
	return best
}
