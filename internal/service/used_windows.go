package service

import "hostlab/internal/proc"

// unknownServer is why the sessions of a service do not show that is no database as far as hostlab knows.
const unknownServer = "it is not a database that hostlab finds on Windows, so only its processes were observed; --dsn " +
	"shows the sessions of one"

// Used is the CPU time in seconds that a server has used; 0 where that is not known.
func Used(pid int) float64 {
	s, err := proc.Read(pid)
	if err != nil {
		return 0
	}
	return s.CPU.Seconds()
}
