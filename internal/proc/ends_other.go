//go:build !linux

package proc

// Reader is none that shows.
func Reader(string) int { return 0 }

// LockHolders are none that show.
func LockHolders() map[int]int { return nil }

// DisksOf are none that show.
func DisksOf([]int) map[string]bool { return nil }

// Under are none that show.
func Under(string) map[string]bool { return nil }
