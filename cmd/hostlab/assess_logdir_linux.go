package main

import "hostlab/internal/private"

// serverCPU is the CPU time in seconds that a server has used, with its children; 0 where
// that cannot be told.
func serverCPU(pid int) float64 {
	used, err := (&private.Meter{Server: pid}).Read()
	if err != nil {
		return 0
	}
	return used.All.Seconds()
}
