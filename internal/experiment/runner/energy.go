package runner

import (
	"fmt"
	"slices"

	"hostlab/internal/experiment"
	"hostlab/internal/host"
	"hostlab/internal/workload"
)

// meter measures the energy of runs for a study that asks for it. One that cannot
// says so in every run: why is the reason.
type meter struct {
	energy *rapl
	why    string
}

// openMeter opens the host's counters for a study; nil, nil where it does not ask for
// energy. A study that decides by what cannot be read is refused.
func openMeter(s *experiment.Study, t host.Tree) (*meter, error) {
	var asked *experiment.Response
	for i, r := range s.Responses {
		needs := []string{r.From, r.Over}
		if (slices.Contains(needs, experiment.Energy) || slices.Contains(needs, experiment.EnergyEach)) &&
			(asked == nil || r.Primary) {
			asked = &s.Responses[i]
		}
	}
	if asked == nil {
		return nil, nil
	}
	e, err := openRAPL(t)
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
		return func(out *workload.Sample) { out.Lack(m.why, experiment.Energy, experiment.EnergyEach) }
	}
	stop := m.energy.measure()
	return func(out *workload.Sample) {
		joules, err := stop()
		if err != nil {
			out.Lack(err.Error(), experiment.Energy, experiment.EnergyEach)
			return
		}
		out.Set(experiment.Energy, joules)
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
		out.Lack("the workload does not count operations", name)
		return
	}
	out.Set(name, whole/float64(n))
}
