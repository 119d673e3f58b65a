//go:build !linux

package stops

// Watch sees nothing here: this system does not tell a stopped process from one that
// waits for a CPU.
type Watch struct{}

// Start starts none.
func Start() *Watch { return nil }

// Sum is nothing.
func (w *Watch) Sum() Pause { return Pause{} }

// Close ends nothing.
func (w *Watch) Close() {}
