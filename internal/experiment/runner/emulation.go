package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"hostlab/internal/emulate"
	"hostlab/internal/experiment"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// emulation is the factor that imitates power policies, if the study has one. Nothing
// of it outlives this process, so no journal has it.
type emulation struct {
	factor experiment.Factor
	e      *emulate.Emulation
	of     int // the first process of the service that is slowed down; 0: what this process starts
	before emulate.Totals
	reaped time.Duration // of processes that ended before the run
}

// startEmulation starts the governor of a study's factor; nil, nil without one.
func startEmulation(ctx context.Context, s *experiment.Study) (*emulation, error) {
	for _, f := range s.Factors {
		if f.Kind != experiment.KindEmulated {
			continue
		}
		em := &emulation{factor: f}
		return em, em.start(ctx, s)
	}
	return nil, nil
}

// start starts a governor, for the processes of the service where the study is of one.
func (m *emulation) start(ctx context.Context, s *experiment.Study) (err error) {
	if s.Harm == nil {
		return m.govern()
	}
	found, err := lookUp(ctx, s.Workload.Params)
	switch {
	case err != nil:
		return fmt.Errorf("factor %s: %w", m.factor.Name, err)
	case found.dsn != nil:
		return fmt.Errorf("factor %s: a DSN does not tell whose processes to slow down; name the service with "+
			"--set workload.service=NAME", m.factor.Name)
	case found.service == nil || found.service.PID == 0:
		return fmt.Errorf("factor %s: the service has no process on this host that could be slowed down; name it with --set workload.service=NAME",
			m.factor.Name)
	}
	m.of = found.service.PID
	return m.govern()
}

// govern starts a governor for the processes that are slowed down.
func (m *emulation) govern() (err error) {
	if m.of == 0 {
		m.e, err = emulate.Start()
	} else {
		m.e, err = emulate.StartFor(m.of)
	}
	return err
}

// renew looks for the service again, which may have been restarted.
func (m *emulation) renew(ctx context.Context, s *experiment.Study) error {
	if m == nil {
		return nil
	}
	return errors.Join(m.e.Close(), m.start(ctx, s))
}

// root is the first of the processes that are slowed down, 0 for none of a service.
func (m *emulation) root() int {
	if m == nil {
		return 0
	}
	return m.of
}

// set puts a cell's policy in force, from the state of an idle host, with a new governor
// where the last one has ended.
func (m *emulation) set(levels map[string]string) error {
	if m == nil {
		return nil
	}
	select {
	case <-m.e.Lost():
		if err := m.govern(); err != nil {
			return fmt.Errorf("factor %s: %w", m.factor.Name, err)
		}
	default:
	}
	if err := m.e.Set(levels[m.factor.Name], m.factor.Emulate.Floor); err != nil {
		return fmt.Errorf("factor %s: %w", m.factor.Name, err)
	}
	return nil
}

// begin and end bracket a run; end adds what was emulated in it to the sample, and
// lets the processes go, so that nothing between runs is slowed down.
func (m *emulation) begin() (err error) {
	if m == nil {
		return nil
	}
	m.before, err = m.e.Totals()
	m.reaped = emulate.Reaped()
	return err
}

func (m *emulation) end(sample *workload.Sample, took time.Duration) error {
	if m == nil {
		return nil
	}
	after, err := m.e.Totals()
	if err != nil {
		select {
		case <-m.e.Lost():
			return errLost
		default:
			return err
		}
	}
	did := after.Sub(m.before)
	if wall, ok := sample.Values["wall"]; ok { // without what a workload prepares
		took = min(took, time.Duration(wall*float64(time.Second)))
	}
	ended := 0.0 // processes of a service are not ours to wait for
	if m.of == 0 {
		ended = (emulate.Reaped() - m.reaped).Seconds()
	}
	doubt, err := tooFine(took, did, ended)
	if err != nil {
		return errors.Join(err, m.e.Release())
	}
	sample.Doubt = cmp.Or(sample.Doubt, doubt)
	extra := math.Round(did.Billed*1e9) / 1e9 // of ns; two sums differ by less without a cause
	if did.Used <= 0 {
		sample.Lack("the workload had no process of its own that computed, so nothing was slowed down",
			experiment.EmulatedCPU, experiment.EmulatedExtra, experiment.EmulatedEach)
	} else {
		sample.Set(experiment.EmulatedCPU, did.Clocked)
		sample.Set(experiment.EmulatedExtra, extra)
		each(sample, experiment.EmulatedEach, did.Clocked)
	}
	return m.e.Release()
}

// leastLooks is how many looks of the governor a run has to last: fewer tell nothing of
// what a policy would have done. What a process does before the first look that sees it
// runs at full speed, and what a gap took too much or too little at the end is not made
// good: a look each. Of slowedLooks they are the tenth that offMost allows.
const (
	leastLooks  = 5
	slowedLooks = 20
)

// offMost is the share of what the policy asked by which what was kept may be off.
const offMost = 0.1

// Shares of the CPU time of processes that ended in a run: the governor saw less than
// seenLeast, and the run says nothing; or less than seenWell, and it is in doubt.
const seenLeast, seenWell = 0.5, 0.8

// tooFine judges whether a run was slowed down: how long it took, what the governor saw
// and did, and the CPU seconds of processes that ended meanwhile. One that is too short will be so
// again: *workload.Lasting.
func tooFine(took time.Duration, did emulate.Totals, ended float64) (doubt string, err error) {
	least := leastLooks * emulate.Resolution
	if did.Asked > emulate.Resolution.Seconds() {
		least = slowedLooks * emulate.Resolution
	}
	const short = time.Millisecond
	share := 1.0
	if ended > short.Seconds() { // below it, accounts are coarse and a clock changes nothing
		share = did.Used / ended
	}
	off := math.Abs(did.Kept - did.Asked)
	kind := "at full speed"
	if least > leastLooks*emulate.Resolution {
		kind = "that is slowed down"
	}
	switch {
	case took < least:
		return "", &workload.Lasting{Err: fmt.Errorf(
			"the run took %s, too short to emulate a clock: processes are looked at every %s, and a run "+
				"%s has to last %s; give it more to do",
			screen.Brief(took.Round(100*time.Microsecond)), screen.Brief(emulate.Resolution), kind, screen.Brief(least))}
	case share < seenLeast:
		return "", fmt.Errorf(
			"the governor saw %.0f %% of the CPU time of the workload's processes: they live too short to emulate "+
				"a clock, which looks at them every %s; let one process do the work", 100*share, screen.Brief(emulate.Resolution))
	case share < seenWell:
		return fmt.Sprintf("the governor saw only %.0f %% of the CPU time of the workload's processes", 100*share), nil
	case off > offMost*did.Asked+2*emulate.Resolution.Seconds(): // the look at each end is what any run may miss
		return fmt.Sprintf("the workload's processes were kept from their CPUs for %s, and the policy asked for %s",
			brief(did.Kept), brief(did.Asked)), nil
	}
	return "", nil
}

// brief writes seconds to three places.
func brief(seconds float64) string {
	return screen.Brief(time.Duration(seconds * float64(time.Second)).Round(time.Millisecond))
}

// errLost ends a run whose governor has ended: it would go on at full speed.
var errLost = errors.New(
	"the governor of the emulated policy ended before the run did: another process may have killed it")

// during is ctx, but ends with errLost as its cause when the governor does.
func (m *emulation) during(ctx context.Context) (context.Context, context.CancelFunc) {
	if m == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	lost := m.e.Lost()
	go func() {
		select {
		case <-lost:
			cancel(errLost)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

func (m *emulation) close() error {
	if m == nil || m.e == nil {
		return nil
	}
	return m.e.Close()
}
