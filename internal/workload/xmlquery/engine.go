package xmlquery

import (
	"fmt"
	"strconv"

	"hostlab/internal/workload"
	"hostlab/internal/workload/cpus"
)

// The engines.
const (
	embedded   = "embedded"
	inPostgres = "postgres"
)

// checkEngine says what the server cannot do.
func checkEngine(p workload.Values) error {
	if p.String("engine") == inPostgres && p.String("cpus") != cpus.All {
		return workload.Wrong("cpus", "the operating system places the server's processes; only the threads of engine=embedded are kept to CPUs",
			"leave cpus out, or choose engine=embedded")
	}
	if n, err := strconv.Atoi(p.String("degree")); err == nil && p.String("engine") == inPostgres {
		return checkDegree(n)
	}
	return nil // a word is counted where it runs
}

func checkDegree(n int) error {
	if n <= maxWorkers+1 {
		return nil
	}
	return workload.Wrong("degree", fmt.Sprintf("PostgreSQL gives a query at most %d workers and their leader, not %d", maxWorkers, n),
		fmt.Sprintf("choose at most %d, or engine=embedded", maxWorkers+1))
}
