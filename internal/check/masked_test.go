package check

import (
	"context"
	"strings"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

// Where /proc and /sys are hidden nothing is cleared: what every Linux has is
// unknown, and so is what the CPUs and disks would show.
func TestBehindMasks(t *testing.T) {
	f := host.Collect(context.Background(), host.Options{Tree: host.Tree{Root: testkit.Unpack(t, host.ExtractArchive, "-- proc/ --\n-- sys/ --\n")}})
	for _, r := range Run(f, ProductionDB, All()) {
		// What says that it was not looked for clears nothing either.
		elsewhere := r.Detail == notWindows || strings.HasPrefix(r.Detail, "not judged for the role") ||
			strings.Contains(r.Detail, "log director") || strings.HasPrefix(r.Detail, "would apply to") ||
			r.ID == "KRN-009" // a call
		switch {
		case r.Status == Unknown && strings.Contains(r.Detail, "missing or masked"):
		case r.Status == NotApplicable && elsewhere:
		default:
			t.Errorf("%s is %s: %s", r.ID, r.Status, r.Detail)
		}
	}
}

// A policy without an online CPU answers EBUSY to everything and decides nothing;
// one with a CPU online that does so stays unknown.
func TestPoliciesOfOfflineCPUs(t *testing.T) {
	busy := host.Fact[string]{Source: "scaling_governor", State: host.StateError, Reason: "device or resource busy"}
	cpus := host.Fact[[]int]{Source: "affected_cpus", State: host.StateError, Reason: "device or resource busy"}
	for _, c := range []struct {
		name   string
		policy host.Policy
		want   Status
	}{
		{"its CPU is offline", host.Policy{ID: 1, Governor: busy, Driver: busy, Affected: cpus, CPUs: cpus}, OK},
		{"no CPU is affected", host.Policy{ID: 2, Governor: busy, Driver: busy, Affected: known([]int{}, "affected_cpus")},
			OK},
		{"its CPU is online", host.Policy{ID: 2, Governor: busy, Driver: busy, Affected: cpus, CPUs: cpus}, Unknown},
		{"one of its CPUs is online", host.Policy{ID: 1, Governor: busy, Driver: busy, Affected: cpus,
			CPUs: known([]int{1, 2}, "related_cpus")}, Unknown},
	} {
		f := &host.Facts{}
		f.Topology.Online = known([]int{0, 2}, "online")
		f.Frequency.Policies = []host.Policy{
			{ID: 0, Governor: known("performance", "g"), Driver: known("acpi-cpufreq", "d"), Affected: known([]int{0}, "a")},
			c.policy,
		}
		if r := Run(f, ProductionDB, power[:1])[0]; r.Status != c.want {
			t.Errorf("%s: %s, want %s: %s", c.name, r.Status, c.want, r.Detail)
		}
	}
}
