// Package result is the record of what was measured: values with unit, interval,
// sample size and the kind of evidence they are, and how they are printed.
package result

import "encoding/json"

// Evidence says how a number came to be. It is printed beside every effect.
type Evidence string

// The kinds of evidence, strongest first.
const (
	Measured  Evidence = "measured"  // on this host, with its own knobs
	Emulated  Evidence = "emulated"  // on this host, a slower part imitated
	Simulated Evidence = "simulated" // from the model
	Cited     Evidence = "cited"     // from a source that is named
)

// Measurement is one number of a probe or an experiment. It is unknown, with
// Reason saying why, while Estimate is nil.
type Measurement struct {
	Probe      string    // the probe it belongs to, as in "wakeup"
	Name       string    // unique in a report, as in "wakeup.alu.10ms.cpu0"
	Title      string    // for people, as in "10 ms of arithmetic after 100 ms asleep, against awake"
	Unit       string    // s, Hz, B, 1/s, or "ratio"
	Estimate   *Estimate // nil: unknown
	NoiseFloor float64   // of an A/A comparison, in Unit's scale (for a ratio: the largest |ratio-1| of its interval); NaN: none
	Evidence   Evidence
	Labels     map[string]string // what it was measured at: cpu, class, slice, kernel, degree, device
	Warnings   []string
	Reason     string // why it is unknown
}

// Known reports whether there is a value.
func (m Measurement) Known() bool { return m.Estimate != nil }

// MarshalJSON writes null for what is not known; JSON has no NaN.
func (m Measurement) MarshalJSON() ([]byte, error) {
	out := struct {
		Probe      string            `json:"probe"`
		Name       string            `json:"name"`
		Title      string            `json:"title"`
		Value      *float64          `json:"value"`
		Unit       string            `json:"unit"`
		Low        *float64          `json:"low"`
		High       *float64          `json:"high"`
		N          int               `json:"n"`
		NoiseFloor *float64          `json:"noise_floor"`
		Evidence   Evidence          `json:"evidence"`
		Labels     map[string]string `json:"labels,omitempty"`
		Warnings   []string          `json:"warnings,omitempty"`
		Reason     string            `json:"reason,omitempty"`
	}{Probe: m.Probe, Name: m.Name, Title: m.Title, Unit: m.Unit, Evidence: m.Evidence,
		NoiseFloor: Finite(m.NoiseFloor), Labels: m.Labels, Warnings: m.Warnings, Reason: m.Reason}
	if e := m.Estimate; e != nil {
		out.Value, out.Low, out.High, out.N = Finite(e.Value), Finite(e.Low), Finite(e.High), e.N
	}
	return json.Marshal(out)
}

// Distribution is a histogram of single operations: Count[i] of them took more
// than Edge[i-1] and at most Edge[i], in Unit; edges rise.
type Distribution struct {
	Name  string    `json:"name"`
	Title string    `json:"title"`
	Unit  string    `json:"unit"`
	Edge  []float64 `json:"edges"`
	Count []int     `json:"counts"`
}
