package lever

import (
	"fmt"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// input is all that a lever is built from.
type input struct {
	role     check.Role
	facts    *host.Facts
	results  []check.Result
	measured []result.Measurement
	skipped  map[string]string  // probe -> why nothing was measured, skipped or failed
	busy     map[string]float64 // probe -> share of the CPUs' time that others took meanwhile
}

func (in *input) first(kind result.Kind) *result.Measurement { return in.find(kind, nil) }

// alike returns the measurement of a kind on the CPU of another one, or nil.
func (in *input) alike(kind result.Kind, m *result.Measurement) *result.Measurement {
	return in.find(kind, m.Labels.CPU)
}

func (in *input) find(kind result.Kind, cpu *int) *result.Measurement {
	for i := range in.measured {
		if m := &in.measured[i]; m.Kind == kind && (cpu == nil || m.Labels.On(*cpu)) {
			return m
		}
	}
	return nil
}

func (in *input) known(kind result.Kind) []result.Measurement {
	var out []result.Measurement
	for _, m := range in.measured {
		if m.Kind == kind && m.Known() {
			out = append(out, m)
		}
	}
	return out
}

// whyUnmeasured says in a clause why a probe gave no number of a kind.
func (in *input) whyUnmeasured(probeName string, kind result.Kind) string {
	if why := in.skipped[probeName]; why != "" {
		return why
	}
	for _, m := range in.measured {
		if m.Kind == kind && !m.Known() && m.Reason != "" {
			return m.Reason
		}
	}
	for _, m := range in.measured {
		if m.Probe == probeName {
			return "the " + probeName + " probe measured no value for it"
		}
	}
	return "the " + probeName + " probe did not run"
}

func (in *input) assess() Next {
	return step("hostlab assess"+Again(in.role, in.facts), "measures it again")
}

// Again are the flags with which another command looks at the same: the role, and
// the log directory unless it was none.
func Again(role check.Role, facts *host.Facts) string {
	flags := " --role " + string(role)
	if facts == nil {
		return flags
	}
	for _, s := range facts.Storage {
		if s.Purpose == "log-dir" {
			flags += " --log-dir " + screen.Word(s.Path)
		}
	}
	return flags
}

// beside makes others' work a condition of a bound on what a pause costs.
func (in *input) beside(l *draft, r reading) {
	if r.awake == nil || l.bound.AtMost == nil {
		return
	}
	l.bound.Of += in.while()
	idle := fmt.Sprintf("the CPU was idle in %d of %d pauses", max(0, r.awake.Estimate.N-r.awake.Labels.Awake),
		r.awake.Estimate.N)
	if r.here {
		l.bound.Why += "; this holds only beside this load, because " + idle
	} else {
		l.bound.Why += "; this allows for the fact that " + idle
	}
}

// while is the condition under which pauses were measured.
func (in *input) while() string {
	if in.busy["wakeup"] == 0 {
		return ""
	}
	return fmt.Sprintf(", while other work took %s of the CPUs", Percent(in.busy["wakeup"]))
}
