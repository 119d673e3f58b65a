package lever

import (
	"strings"
	"testing"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

func TestVerdictLine(t *testing.T) {
	slow := ratio("wakeup.alu.10ms.cpu0", 1.42, 1.31, 1.55, 0.02)
	same := ratio("wakeup.alu.10ms.cpu0", 1, 0.99, 1.01, 0.01)
	cold := ratio("wakeup.cold.10ms.cpu0", 2.1, 1.9, 2.2, 0.01)
	good := ratio("degree.efficiency.2", 1, 0.98, 1.01, 0.01)
	sib := []result.Measurement{ratio("siblings.harm.sibling", 0.55, 0.5, 0.6, 0.02), ratio("siblings.harm.other", 0.98, 0.96, 1.0, 0.02)}
	commit := with(with(seconds("commit.overwritten.p50", 124e-6), "commits", "5000"), "seconds", "12")
	busy := with(ratio("wakeup.alu.10ms.cpu0", 1, 0.99, 1.01, 0.01), "disturbed", "the CPU was not idle in 9 of 12 pauses")
	found := []check.Result{finding(check.LeverMemory, "MEM-001", "low", "x", "do"), finding(check.LeverKernel, "KRN-001", "high", "x", "do this")}
	long := []check.Result{finding(check.LeverKernel, "KRN-001", "high", "x", "for p in a b; do\necho $p\ndone")}
	tests := []struct {
		name    string
		role    check.Role
		facts   *host.Facts
		results []check.Result
		runs    []probe.Outcome
		starts  string
		has     []string
		never   []string
	}{
		{name: "worthwhile", results: found, runs: ran(slow, commit), starts: "Yes, this platform measurably costs a production database server something:",
			has: []string{"1.42x [1.31x, 1.55x] as long (n 24)", "A commit takes 124 us", "5000 commits in 12 s, worth n 24", "First: run \"hostlab facts\"", "Not decided: log device", "2 more settings"}},
		{name: "the largest effect first", runs: ran(slow, cold), starts: "Yes,", has: []string{"2.10x [1.90x, 2.20x]", "1.42x"}},
		{name: "siblings only could cost", runs: ran(sib...), starts: "This platform could cost", has: []string{"0.55x", "lscpu"}, never: []string{"Yes"}},
		{name: "development", role: check.Development, runs: ran(slow), starts: "Yes, the power policy", has: []string{"saves energy", "Change nothing."}},
		{name: "a clock held at its lowest", facts: pinned(), results: []check.Result{finding(check.LeverMemory, "MEM-001", "high", "x", "do"), finding(check.LeverFrequency, "PWR-001", "high", governor, "cpupower frequency-set -g performance")},
			runs: ran(same, good), starts: "This platform could cost a production database server something: the governor powersave under acpi-cpufreq holds the clock at its lowest, 1.50 GHz of 3.00 GHz",
			has: []string{"up to 50 %", "computed, not measured", "First: PWR-001", "cpupower frequency-set -g performance"}, never: []string{"No cost", "no cost was found in: frequency"}},
		{name: "a clock held in development", role: check.Development, facts: pinned(), runs: ran(same, good), starts: "Yes, the power policy", has: []string{"holds the clock at its lowest", "saves energy", "Change nothing."}},
		{name: "an application server's commits are another host's", role: check.ProductionApp, facts: guest(), runs: ran(same, good, commit), starts: "No cost was found", never: []string{"A commit takes"}},
		{name: "one CPU disturbed, a cost on another", runs: ran(slow, with(ratio("wakeup.alu.10ms.cpu1", 1, 0.99, 1.01, 0.01), "disturbed", "the CPU was not idle in 9 of 12 pauses")), starts: "Yes,", has: []string{"1.42x"}, never: []string{"9 of 12"}},
		{name: "a cost without a cause", facts: guest(), results: found, runs: ran(same, cold, commit), starts: "A cost was measured that no setting of this host takes away:",
			has: []string{"2.10x [1.90x, 2.20x]", "A commit takes 124 us", "First: KRN-001", "run \"do this\"", "Not decided: log device; not set here but by the owner of the kvm hypervisor: idle states; not measured: what 1 more setting that sources advise against costs"}, never: []string{"No cost"}},
		{name: "recommended, worst first, nothing measured", results: found, starts: "It cannot be told", has: []string{"nothing could be measured", "the wakeup probe did not run", "First: KRN-001, governor saves energy (advised, its gain was not measured): run \"do this\""}},
		{name: "a long command is pointed to", results: long, starts: "It cannot be told", has: []string{"the command stands under Kernel limits"}, never: []string{"echo $p"}},
		{name: "one lever without effect is not the platform", facts: guest(), runs: ran(same, commit), starts: "It cannot be told",
			has: []string{"log device: what a faster device gives", "no cost was found in: frequency policy", "No change can be recommended from this run", "Not decided: log device"}},
		{name: "all that was measured costs nothing", facts: guest(), runs: ran(same, good), starts: "No cost was found in what could be measured: frequency policy, parallelism", has: []string{"no check finds anything", "Change nothing."}},
		{name: "no cost, but settings differ", facts: guest(), results: found, runs: ran(same, good), starts: "No cost was found", has: []string{"First: KRN-001", "1 more setting"}, never: []string{"Change nothing"}},
		{name: "busy host", facts: guest(), runs: ran(busy, good), starts: "It cannot be told", has: []string{"this host was busy: the CPU was not idle in 9 of 12 pauses", "assess again while the host is quieter", "no cost was found in: parallelism"}},
		{name: "a lever without a knob here is no open question", facts: guest(), runs: ran(ratio("wakeup.alu.10ms.cpu0", 1.1, 0.9, 1.3, 0.01), good), starts: "No cost was found in what could be measured: parallelism",
			has: []string{"Not set here but by the owner of the kvm hypervisor: frequency policy, idle states."}, never: []string{"Not decided", "not decided"}},
		{name: "nothing measured but a lever without a knob here", facts: guest(), runs: ran(ratio("wakeup.alu.10ms.cpu0", 1.1, 0.9, 1.3, 0.01)), starts: "It cannot be told",
			has: []string{"nothing measured decides it (frequency policy: the true ratio may be 1"}, never: []string{"nothing could be measured"}},
		{name: "unresolved", runs: ran(ratio("wakeup.alu.10ms.cpu0", 1.1, 0.9, 1.3, 0.01)), starts: "It cannot be told", has: []string{"frequency policy: the true ratio may be 1"}},
		{name: "blind", results: []check.Result{answer(check.LeverFrequency, check.Unknown)}, runs: skipped("wakeup", "this process may not sleep"),
			starts: "It cannot be told", has: []string{"this process may not sleep", "CHK-unknown could not look"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			role, facts := tt.role, tt.facts
			if role == "" {
				role = check.ProductionDB
			}
			if facts == nil {
				facts = metal()
			}
			got := VerdictLine(role, Join(role, facts, tt.results, tt.runs))
			if !strings.HasPrefix(got, tt.starts) {
				t.Errorf("got %q, want it to start with %q", got, tt.starts)
			}
			for _, s := range tt.has {
				if !strings.Contains(got, s) {
					t.Errorf("%q does not say %q", got, s)
				}
			}
			for _, s := range tt.never {
				if strings.Contains(got, s) {
					t.Errorf("%q says %q", got, s)
				}
			}
		})
	}
}

// The largest measured effect comes first, whatever the order of the table.
func TestLargestFirst(t *testing.T) {
	got := VerdictLine(check.ProductionDB, Join(check.ProductionDB, metal(), nil,
		ran(ratio("wakeup.alu.10ms.cpu0", 1.42, 1.31, 1.55, 0.02), ratio("wakeup.cold.10ms.cpu0", 2.1, 1.9, 2.2, 0.01))))
	if cold, clock := strings.Index(got, "2.10x"), strings.Index(got, "1.42x"); cold < 0 || clock < cold {
		t.Errorf("2.10x does not come before 1.42x: %s", got)
	}
}
