package host_test

import (
	"regexp"
	"testing"

	"hostlab/internal/host"
)

// What moves by itself says nothing of how a machine is set up: no reading of a moment, no count, nothing of one process.
func TestSetUp(t *testing.T) {
	moves := regexp.MustCompile(`(^|[._])(free|available|reserved|current|hostname|steal|pid|aio_nr|threads|exceeded|` +
		`opens|overflows|drops|pressure_cpu|pressure_io|stalled_io|stalled_memory|events|kills|throttled)$`)
	wanted := map[string]bool{"topology.threads": true} // of the processor
	n := 0
	for path, says := range host.SetUp() {
		of := moves.MatchString(path)
		if within := regexp.MustCompile(`^(limits|storage|databases|app_servers|cloud_volumes|cloud_networks)\b`); within.MatchString(path) {
			continue
		}
		if n++; of && says != wanted[path] {
			t.Errorf("%s: says how the machine is set up: %v", path, says)
		}
	}
	for path, want := range map[string]bool{"memory.swappiness": true, "frequency.policies[].governor": true,
		"network.passive_opens": false, "data[].free": false, "databases": false, "limits": false,
		"block[].name": false, "block[].scheduler": true, "windows.sql_servers[].pid": false} {
		if says, known := host.SetUp()[path]; !known || says != want {
			t.Errorf("%s: %v, known %v", path, says, known)
		}
	}
	if n < 150 {
		t.Errorf("only %d paths", n)
	}
}
