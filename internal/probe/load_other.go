//go:build !linux

package probe

// readLoad knows nothing here.
func readLoad([]int) (map[int]cpuLoad, bool) { return nil, false }
