//go:build !linux

package service

// Used is not known here: servers are looked for on Linux alone.
func Used(int) float64 { return 0 }
