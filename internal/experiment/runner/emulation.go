package runner

import (
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
	before emulate.Totals
	reaped time.Duration // of processes that ended before the run
}

// startEmulation starts the governor of a study's factor; nil, nil without one.
func startEmulation(s *experiment.Study) (*emulation, error) {
	for _, f := range s.Factors {
		if f.Kind != kindEmulated {
			continue
		}
		m, err := emulate.Choose(emulate.Method(f.Emulate.Method), f.Emulate.Slice)
		if err != nil {
			return nil, err
		}
		e, err := emulate.Start(emulate.Config{Method: m, Floor: f.Emulate.Floor})
		if err != nil {
			return nil, err
		}
		return &emulation{factor: f, e: e}, nil
	}
	return nil, nil
}

// set puts a cell's policy in force, from the state of an idle host.
func (m *emulation) set(levels map[string]string) error {
	if m == nil {
		return nil
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
		return err
	}
	did := after.Sub(m.before)
	if wall, ok := sample.Values["wall"]; ok { // without what a workload prepares
		took = min(took, time.Duration(wall*float64(time.Second)))
	}
	doubt, err := tooFine(took, did.Used, (emulate.Reaped() - m.reaped).Seconds())
	if err != nil {
		return errors.Join(err, m.e.Release())
	}
	if sample.Doubt == "" {
		sample.Doubt = doubt
	}
	extra := math.Round((did.Clocked-did.Used)*1e9) / 1e9 // of ns; two sums differ by less without a cause
	switch n := operations(sample); {
	case did.Used <= 0:
		missing(sample, "the workload had no process of its own that computed, so nothing was slowed down", experiment.EmulatedCPU, experiment.EmulatedExtra, experiment.EmulatedEach)
	case n == 0:
		have(sample, experiment.EmulatedCPU, did.Clocked)
		have(sample, experiment.EmulatedExtra, extra)
		missing(sample, noCount, experiment.EmulatedEach)
	default:
		have(sample, experiment.EmulatedCPU, did.Clocked)
		have(sample, experiment.EmulatedExtra, extra)
		have(sample, experiment.EmulatedEach, did.Clocked/float64(n))
	}
	return m.e.Release()
}

// leastLooks is how many looks of the governor a run has to last: what a process does
// before the first look that sees it runs at full speed, and after the last one unseen.
// A fifth of a slice is also what gaps of the quota may take of it.
const leastLooks = 5

// Shares of the CPU time of processes that ended in a run: the governor saw less than
// seenLeast, and the run says nothing; or less than seenWell, and it is in doubt.
const seenLeast, seenWell = 0.5, 0.8

// tooFine judges whether a run could be slowed down: how long it took, the CPU seconds
// that the governor saw, and those of processes that ended meanwhile. An error is a run
// that will not be better when it is made again.
func tooFine(took time.Duration, seen, ended float64) (doubt string, err error) {
	const least = leastLooks * emulate.Resolution
	const short = time.Millisecond
	share := 1.0
	if ended > short.Seconds() { // below it, accounts are coarse and a clock changes nothing
		share = seen / ended
	}
	switch {
	case took < least:
		return "", fmt.Errorf("the run took %s, too short to emulate a clock: processes are looked at every %s, and a run has to last %s; give it more to do",
			screen.Brief(took.Round(100*time.Microsecond)), screen.Brief(emulate.Resolution), screen.Brief(least))
	case share < seenLeast:
		return "", fmt.Errorf("the governor saw %.0f %% of the CPU time of the workload's processes: they live too short to emulate a clock, which looks at them every %s; "+
			"let one process do the work", 100*share, screen.Brief(emulate.Resolution))
	case share < seenWell:
		return fmt.Sprintf("the governor saw only %.0f %% of the CPU time of the workload's processes", 100*share), nil
	}
	return "", nil
}

func (m *emulation) close() error {
	if m == nil {
		return nil
	}
	return m.e.Close()
}
