package explain

import (
	"time"

	"hostlab/internal/private"
)

// ProcessCPU is the CPU time of all threads of a process, those that have ended too.
func ProcessCPU(process int64) (time.Duration, error) { return private.ProcessCPU(int(process)) }
