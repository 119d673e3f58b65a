//go:build !linux

package runner

// stopWatch sees nothing here: this system does not tell a stopped process from one that
// waits for a CPU.
type stopWatch struct{}

func watchStops() *stopWatch { return nil }

func (w *stopWatch) sum() pause { return pause{} }
func (w *stopWatch) close()     {}
