// Package assesstest has what tests and benchmarks of assess have in common.
package assesstest

import (
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/emulate"
	"hostlab/internal/result"
)

// Nominal is the clock of full speed, Hz, where it is emulated.
const Nominal = 3e9

// Emulated is the clock of processes that an emulation slows down: the work that they did, by the
// CPU time that it would have taken at the emulated clock.
type Emulated struct{ *emulate.Emulation }

// Read is what was emulated until now.
func (e Emulated) Read(time.Time) (map[int]assess.Ran, error) {
	t, err := e.Totals()
	return map[int]assess.Ran{-1: {Cycles: t.Used * Nominal, Seconds: t.Clocked}}, err
}

// Highest is full speed.
func (Emulated) Highest() (float64, error) { return Nominal, nil }

// About names it.
func (Emulated) About() (string, result.Evidence) { return "an emulated clock", result.Emulated }

// Close leaves the emulation to who started it.
func (Emulated) Close() {}
