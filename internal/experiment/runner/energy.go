package runner

import (
	"fmt"

	"hostlab/internal/energy"
	"hostlab/internal/experiment"
	"hostlab/internal/host"
	"hostlab/internal/workload"
)

// meter measures the energy of runs for a study that asks for it. One that cannot
// says so in every run: why is the reason.
type meter struct {
	energy *energy.Meter
	why    string
}

// openMeter opens the host's counters for a study; nil, nil where it does not ask for
// energy. A study that decides by what cannot be read is refused.
func openMeter(s *experiment.Study, t host.Tree) (*meter, error) {
	var asked *experiment.Response
	for i, r := range s.Responses {
		if (r.From == experiment.Energy || r.From == experiment.EnergyEach) && (asked == nil || r.Primary) {
			asked = &s.Responses[i]
		}
	}
	if asked == nil {
		return nil, nil
	}
	e, err := energy.Open(t)
	switch {
	case err == nil:
		return &meter{energy: e}, nil
	case asked.Primary:
		return nil, fmt.Errorf("response %s decides, and cannot be had: %w; make another response primary", asked.Name, err)
	}
	return &meter{why: err.Error()}, nil
}

// begin starts to measure a run; the function that it returns adds what was measured to
// the run's sample.
func (m *meter) begin() (end func(*workload.Sample)) {
	if m == nil {
		return func(*workload.Sample) {}
	}
	if m.energy == nil {
		return func(out *workload.Sample) { missing(out, m.why, experiment.Energy, experiment.EnergyEach) }
	}
	stop := m.energy.Measure()
	return func(out *workload.Sample) {
		joules, err := stop()
		if err != nil {
			missing(out, err.Error(), experiment.Energy, experiment.EnergyEach)
			return
		}
		have(out, experiment.Energy, joules)
		each(out, experiment.EnergyEach, joules)
	}
}

// each divides what a whole run took by its operations.
func each(out *workload.Sample, name string, whole float64) {
	n := out.Done
	if n <= 0 {
		n = out.Operations
	}
	if n <= 0 {
		missing(out, "the workload does not count operations", name)
		return
	}
	have(out, name, whole/float64(n))
}

func have(out *workload.Sample, name string, v float64) {
	if out.Values == nil {
		out.Values = map[string]float64{}
	}
	out.Values[name] = v
}

func missing(out *workload.Sample, why string, names ...string) {
	if out.Missing == nil {
		out.Missing = map[string]string{}
	}
	for _, name := range names {
		out.Missing[name] = why
	}
}
