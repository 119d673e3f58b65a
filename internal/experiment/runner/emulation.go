package runner

import (
	"fmt"

	"hostlab/internal/emulate"
	"hostlab/internal/experiment"
	"hostlab/internal/workload"
)

// emulation is the factor that imitates power policies, if the study has one. Nothing
// of it outlives this process, so no journal has it.
type emulation struct {
	factor experiment.Factor
	e      *emulate.Emulation
	before emulate.Totals
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
	return err
}

func (m *emulation) end(sample *workload.Sample) error {
	if m == nil {
		return nil
	}
	after, err := m.e.Totals()
	if err != nil {
		return err
	}
	did := after.Sub(m.before)
	switch n := operations(sample); {
	case did.Used <= 0:
		missing(sample, "the workload had no process of its own that computed, so nothing was slowed down", experiment.EmulatedCPU, experiment.EmulatedEach)
	case n == 0:
		have(sample, experiment.EmulatedCPU, did.Clocked)
		missing(sample, noCount, experiment.EmulatedEach)
	default:
		have(sample, experiment.EmulatedCPU, did.Clocked)
		have(sample, experiment.EmulatedEach, did.Clocked/float64(n))
	}
	return m.e.Release()
}

func (m *emulation) close() error {
	if m == nil {
		return nil
	}
	return m.e.Close()
}
