//go:build !linux

package proc

// Pauses sees nothing here: this system does not tell a stopped process from one that
// waits for a CPU.
type Pauses struct{}

// WatchPauses starts none.
func WatchPauses() *Pauses { return nil }

// Sum is nothing.
func (w *Pauses) Sum() Pause { return Pause{} }

// Close ends nothing.
func (w *Pauses) Close() {}
