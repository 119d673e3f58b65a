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
		if n := operations(out); n > 0 {
			have(out, experiment.EnergyEach, joules/float64(n))
		} else {
			missing(out, noCount, experiment.EnergyEach)
		}
	}
}

const noCount = "the workload does not count operations"

// operations are those of a whole run.
func operations(s *workload.Sample) int64 {
	if s.Done > 0 {
		return s.Done
	}
	return s.Operations
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
