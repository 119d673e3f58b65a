//go:build !linux

package probe

// readLoad knows nothing here.
func readLoad([]int) (map[int]cpuLoad, bool) { return nil, false }

// ownCPU is not needed where readLoad knows nothing.
func ownCPU() float64 { return 0 }
