package service

import "hostlab/internal/proc"

// Used is the CPU time in seconds that a server has used; 0 where that is not known.
func Used(pid int) float64 {
	s, err := proc.Read(pid)
	if err != nil {
		return 0
	}
	return s.CPU.Seconds()
}
