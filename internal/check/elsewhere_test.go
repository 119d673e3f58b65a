package check

import (
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// The commands for a host that was recorded have none of the numbers that its processes had then.
func TestElsewhere(t *testing.T) {
	f := &host.Facts{Databases: []host.Database{{Kind: "postgresql", PID: 306}, {Kind: "redis"}}}
	results := []Result{{Remedy: "echo -1000 | sudo tee /proc/306/oom_score_adj"}, {Remedy: "taskset -pc 306"},
		{Remedy: "cat /proc/3060/status"}, {Remedy: "sysctl vm.x=306"}}
	Elsewhere(f, results)
	for i, want := range []string{"tee /proc/PID/oom_score_adj\n# PID: that of postgresql, which was 306 when", "taskset -pc PID\n# PID: ",
		"/proc/3060/", "=306"} {
		testkit.Has(t, results[i].Remedy, want)
	}
}
