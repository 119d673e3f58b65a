//go:build !linux

package proc

// Freezers are none here.
type Freezers struct{}

// Follow does nothing.
func (*Freezers) Follow([]int) {}

// Look does nothing.
func (*Freezers) Look() {}

// Frozen is none.
func (*Freezers) Frozen(int) string { return "" }

// Tracer is none.
func Tracer(int) int { return 0 }
