package model

import (
	"fmt"
	"math"
	"sync"
	"time"

	"hostlab/internal/result"
)

// Clock is a policy's frequency of one CPU in real time, for who emulates a
// governor: the rule is the one that Simulate runs. The CPU is alone in its domain.
// Its times never run backwards; those of different CPUs may be apart a little. Safe
// for concurrent use.
type Clock struct {
	g       governor
	pstates []float64
	nominal float64

	mu     sync.Mutex
	state  int
	task   *Task // that runs; nil when idle
	since  Time
	start  Time // schedutil: of the last change; else of the check interval
	next   Time // check or tick; without one, negative
	busy   Time // in the check interval
	cycles float64
	past   sampled

	util, lag float64
}

// Task is something that runs on CPUs, one at a time; schedutil follows it over them.
// The zero value is a new one.
type Task struct {
	util, est float64
	at        Time
	on        *Clock
}

// Stepped is a machine of cores that are alone in their frequency domains, with
// states from floor (0.05 to 1 of full speed) up in steps of 5 % of it: what an
// emulated frequency stands for.
func Stepped(cpus int, floor float64) Machine {
	const full = 1e9
	m := Machine{Name: "emulated", Source: "states in steps of 5 % of full speed, emulated", Sockets: 1,
		CoresPerSocket: cpus,
		ThreadsPerCore: 1,
		Nominal:        full, SMTRate: 1, Domain: PerThread, Power: Power{LowVolts: 1, NominalVolts: 1}}
	for k := 0; ; k++ {
		f := floor + 0.05*float64(k)
		if f > 0.999 {
			break
		}
		m.PStates = append(m.PStates, f*full)
	}
	m.PStates = append(m.PStates, full)
	return m
}

// NewClock makes a clock that starts in the state of an idle CPU. phase, 0 to 1, is
// where in its check interval the CPU is at time 0. Errors are the policy's.
func NewClock(p Policy, m Machine, phase float64) (*Clock, error) {
	if p.Bounds {
		return nil, fmt.Errorf("policy %s: the hardware chooses the frequency, by a rule that nobody has published", p.Name)
	}
	g, err := compileGovernor(p, m)
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", p.Name, err)
	}
	c := &Clock{g: g, pstates: m.PStates, nominal: m.Nominal, state: g.floor, next: -1}
	if g.rule == ruleTop {
		c.state = g.top
	}
	if g.period > 0 && g.rule != ruleSchedutil {
		c.start = -Time(phase * float64(g.period))
		c.next = c.start + g.period
	}
	return c, nil
}

// Start says that t runs from now on, after an idle time or at once after another.
func (c *Clock) Start(now time.Duration, t *Task) {
	at := Time(now)
	if c.g.rule == ruleSchedutil {
		t.leave(c, at)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(at)
	if c.task != nil {
		c.task.est = estimated(c.task.est, c.task.util)
	}
	c.task = t
	if c.g.rule != ruleSchedutil {
		return
	}
	if t.on != c {
		c.util = min(1, c.util+t.util)
		t.on = c
	}
	c.consider()
}

// leave takes a task's utilisation off the CPU that it ran on before.
func (t *Task) leave(to *Clock, now Time) {
	t.util *= decay(float64(max(0, now-t.at)) / to.g.halfLife)
	t.at = now
	if old := t.on; old != nil && old != to {
		old.mu.Lock()
		old.advance(now)
		old.util = max(0, old.util-t.util)
		old.mu.Unlock()
	}
}

// Stop says that the CPU idles from now on.
func (c *Clock) Stop(now time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(Time(now))
	if c.task == nil {
		return
	}
	t := c.task
	c.task = nil
	if c.g.rule != ruleSchedutil {
		return
	}
	t.est = estimated(t.est, t.util)
	c.util *= decay(c.lag / c.g.halfLife)
	c.lag = 0
	c.consider()
}

// Speed is the frequency now over nominal.
func (c *Clock) Speed(now time.Duration) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(Time(now))
	if c.g.rule == ruleHertz {
		return c.g.hz / c.nominal
	}
	return c.pstates[c.state] / c.nominal
}

func (c *Clock) advance(now Time) {
	for c.next >= 0 && c.next <= now {
		c.account(c.next)
		if c.g.rule == ruleSchedutil {
			c.consider()
			continue
		}
		c.state = c.g.check(&c.past, c.pstates, c.g.utilisation(c.busy, c.cycles), c.state)
		c.start, c.busy, c.cycles = c.next, 0, 0
		c.next += c.g.period
	}
	c.account(now)
}

func (c *Clock) account(now Time) {
	dt := now - c.since
	if dt <= 0 {
		return
	}
	c.since = now
	track := c.g.rule == ruleSchedutil
	if c.task == nil {
		if track {
			c.util *= decay(float64(dt) / c.g.halfLife)
		}
		return
	}
	scale := c.pstates[c.state] / c.pstates[len(c.pstates)-1]
	c.busy += dt
	c.cycles += float64(dt) * scale
	if !track {
		return
	}
	fade := c.g.fade(dt, scale)
	c.util = 1 - (1-c.util)*fade
	c.lag += float64(dt) * (1 - scale)
	c.task.util, c.task.at = 1-(1-c.task.util)*fade, now
}

// consider lets schedutil choose, and sets the next tick of a busy CPU whose state
// can still change.
func (c *Clock) consider() {
	est := 0.0
	if c.task != nil {
		est = c.task.est
	}
	want := c.g.tracked(c.pstates, c.util, est, 0)
	if want != c.state && c.since-c.start >= c.g.rateLimit {
		c.start, c.state = c.since, want
	}
	c.next = -1
	if c.task != nil && (c.state != c.g.top || want != c.state) {
		c.next = c.since + c.g.period
	}
}

// rampPhases is how many positions within the check interval Ramp averages over.
const rampPhases = 32

// rampLimit is how long Ramp waits for the highest frequency.
const rampLimit = 60 * Second

// Ramp measures how long a CPU that was idle takes, from the start of a long
// slice, to reach the policy's highest frequency: the mean over phases of the check
// interval, with the shortest and the longest as Low and High. Infinite when it never does.
func Ramp(m Machine, p Policy) (result.Estimate, error) {
	c := Case{Machine: m, Policy: p, Workload: Workload{Name: "ramp", Kind: Batch, Users: 1,
		Slice: Dist{Mean: 10 * Seconds(rampLimit)}, Work: 10 * Seconds(rampLimit), Placement: Packed}}
	if err := c.Validate(); err != nil {
		return result.Estimate{}, err
	}
	g, err := compileGovernor(p, m)
	if err != nil {
		return result.Estimate{}, err
	}
	e := result.Estimate{Low: math.Inf(1), High: math.Inf(-1), N: rampPhases, Unit: "s"}
	for k := range rampPhases {
		s := newSim(c, g, 0, 0)
		s.meter.warmUp, s.meter.steps = 0, 1
		for i := range s.cpus {
			s.cpus[i].phase = Time((float64(k) + 0.5) / rampPhases * float64(g.period))
		}
		t := rampOnce(s)
		e.Value += t / rampPhases
		e.Low, e.High = min(e.Low, t), max(e.High, t)
	}
	return e, nil
}

func rampOnce(s *sim) float64 {
	for s.step() && s.now < rampLimit {
		k := &s.cpus[0]
		if k.proc >= 0 && (s.hw.held >= 0 || s.hw.domains[0].request == int32(s.g.top)) {
			return Seconds(max(0, s.now))
		}
	}
	return math.Inf(1)
}
