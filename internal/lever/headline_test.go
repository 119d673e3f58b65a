package lever

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

func TestHeadline(t *testing.T) {
	slow := ratio("wakeup.alu.10ms.cpu0", 1.42, 1.31, 1.55, 0.02)
	same := ratio("wakeup.alu.10ms.cpu0", 1, 0.99, 1.01, 0.01)
	cold := ratio("wakeup.cold.10ms.cpu0", 2.1, 1.9, 2.2, 0.01)
	good := ratio("degree.efficiency.2", 1, 0.98, 1.01, 0.01)
	sib := []result.Measurement{ratio("siblings.harm.sibling", 0.55, 0.5, 0.6, 0.02),
		ratio("siblings.harm.other", 0.98, 0.96, 1.0, 0.02)}
	commit := with(with(seconds("commit.overwritten.p50", 124e-6), "commits", "5000"), "seconds", "12")
	busy := with(ratio("wakeup.alu.10ms.cpu0", 1, 0.99, 1.01, 0.01), "disturbed", "the CPU was not idle in 9 of 12 pauses")
	found := []check.Result{finding(Memory, "MEM-001", "low", "x", "do"),
		finding(Kernel, "KRN-001", "high", "x", "do this")}
	long := []check.Result{finding(Kernel, "KRN-001", "high", "x", "for p in a b; do\necho $p\ndone")}
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
		{name: "worthwhile", results: found, runs: ran(slow, commit),
			starts: "Yes, this platform measurably slows a production database server.",
			has:    []string{"1.42x [1.31, 1.55] as long (n 24)", "First: run \"hostlab watch\""}},
		{name: "the largest effect first", runs: ran(slow, cold), starts: "Yes,", has: []string{"2.10x [1.90, 2.20]"},
			never: []string{"1.42x"}},
		{name: "siblings only could cost", runs: ran(sib...), starts: "This platform could slow",
			has: []string{"0.55x", "lscpu"}, never: []string{"Yes"}},
		{name: "development", role: check.Development, runs: ran(slow), starts: "Yes, the power policy",
			has: []string{"should save the energy", "Change nothing."}},
		{name: "a clock held at its lowest", facts: pinned(), results: []check.Result{finding(Memory, "MEM-001", "high",
			"x", "do"), finding(Clock, "PWR-001", "high", governor, "cpupower frequency-set -g performance")},
			runs: ran(same, good), starts: "This platform could slow a production database server: the governor powersave under acpi-cpufreq holds the clock at its lowest, 1.50 GHz of 3.00 GHz",
			has: []string{"up to 50 %", "computed, not measured", "First change PWR-001",
				"cpupower frequency-set -g performance"}, never: []string{"No cost", "no cost was found in: clock"}},
		{name: "a clock held in development", role: check.Development, facts: pinned(), runs: ran(same, good),
			starts: "Yes, the power policy", has: []string{"holds the clock at its lowest", "should save the energy",
				"Change nothing."}},
		{name: "an application server's commits are another host's", role: check.ProductionApp, facts: guest(),
			runs: ran(same, good, commit), starts: "No cost was found", never: []string{"commit takes"}},
		{name: "one CPU disturbed, a cost on another", runs: ran(slow,
			with(ratio("wakeup.alu.10ms.cpu1", 1, 0.99, 1.01, 0.01), "disturbed", "the CPU was not idle in 9 of 12 pauses")),
			starts: "Yes,", has: []string{"1.42x"}, never: []string{"9 of 12"}},
		{name: "a cost without a cause", facts: guest(), results: found, runs: ran(same, cold, commit),
			starts: "A cost was measured that no setting of this host removes.",
			has:    []string{"2.10x [1.90, 2.20]", "First change KRN-001", "run \"do this\""}, never: []string{"No cost"}},
		{name: "recommended, worst first, nothing measured", results: found,
			starts: "Inconclusive: no platform cost was shown or excluded.",
			has:    []string{"Nothing was measured. ", "First change KRN-001, governor saves energy; its gain was not measured: run \"do this\"."}},
		{name: "a long command is pointed to", results: long,
			starts: "Inconclusive: no platform cost was shown or excluded.",
			has:    []string{`see "What to do next"`}, never: []string{"echo $p"}},
		{name: "one lever without effect is not the platform", facts: guest(), runs: ran(same, commit),
			starts: "Inconclusive: no platform cost was shown or excluded.",
			has:    []string{"What a faster log device", "Change nothing yet"}},
		{name: "all that was measured costs nothing", facts: guest(), runs: ran(same, good),
			starts: "No cost was found in what was measured: clock frequency, parallelism",
			has:    []string{"No check found anything", "Change nothing."}},
		{name: "no cost, but settings differ", facts: guest(), results: found, runs: ran(same, good),
			starts: "No cost was found", has: []string{"First change KRN-001"},
			never: []string{"Change nothing"}},
		{name: "busy host", facts: guest(), runs: ran(busy, good),
			starts: "Inconclusive: no platform cost was shown or excluded.",
			has:    []string{"This host was busy during the measurements", "assess again on a quieter host"}},
		{name: "a lever without a knob here is no open question", facts: guest(),
			runs:   ran(ratio("wakeup.alu.10ms.cpu0", 1.1, 0.9, 1.3, 0.01), good),
			starts: "No cost was found in what was measured: parallelism",
			never:  []string{"Not decided", "not decided"}},
		{name: "nothing measured but a lever without a knob here", facts: guest(),
			runs:   ran(ratio("wakeup.alu.10ms.cpu0", 1.1, 0.9, 1.3, 0.01)),
			starts: "Inconclusive: no platform cost was shown or excluded.",
			has:    []string{"The cost that was measured may be chance: its 95 % interval includes 0."}, never: []string{"Nothing was measured"}},
		{name: "unresolved", runs: ran(ratio("wakeup.alu.10ms.cpu0", 1.1, 0.9, 1.3, 0.01)),
			starts: "Inconclusive: no platform cost was shown or excluded.",
			has:    []string{"The cost that was measured may be chance: its 95 % interval includes 0"}},
		{name: "blind", results: []check.Result{answer(Clock, check.Unknown)},
			runs:   skipped("wakeup", "this process may not sleep"),
			starts: "Inconclusive: no platform cost was shown or excluded.",
			has:    []string{"1 check could not look, as CHK-unknown"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			role, facts := tt.role, tt.facts
			role = cmp.Or(role, check.ProductionDB)
			if facts == nil {
				facts = metal()
			}
			got := answerOf(role, facts, tt.results, tt.runs)
			if !strings.HasPrefix(got, tt.starts) {
				t.Errorf("got %q, want it to start with %q", got, tt.starts)
			}
			brief(t, got)
			for _, s := range tt.has {
				testkit.Has(t, got, s)
			}
			for _, s := range tt.never {
				if strings.Contains(got, s) {
					t.Errorf("%q says %q", got, s)
				}
			}
		})
	}
}

func answerOf(role check.Role, facts *host.Facts, results []check.Result, runs []probe.Outcome) string {
	_, answer := Platform(role, facts, results, runs)
	return answer
}

// brief holds the length of a headline's sentences.
func brief(t interface {
	Helper()
	Errorf(string, ...any)
}, verdict string) {
	t.Helper()
	for s := range strings.SplitSeq(verdict, ". ") {
		if n := len(strings.Fields(s)); n == 0 || n > 25 {
			t.Errorf("%d words in a sentence: %s", n, s)
		}
	}
}

// Each recorded machine has a short verdict in each role, with and without measurements.
func TestVerdictsAreBrief(t *testing.T) {
	recorded, err := filepath.Glob("../host/testdata/*.txtar")
	if err != nil || len(recorded) < 10 {
		t.Fatalf("%d recorded machines: %v", len(recorded), err)
	}
	slow, same := ratio("wakeup.alu.10ms.cpu0", 1.42, 1.31, 1.55, 0.02), ratio("wakeup.alu.10ms.cpu0", 1, 0.99, 1.01, 0.01)
	cold, commit := ratio("wakeup.cold.10ms.cpu0", 2.1, 1.9, 2.2, 0.01),
		with(with(seconds("commit.overwritten.mean", 124e-6), "commits", "5000"), "seconds", "12")
	spoilt := with(slow, "disturbed", "3 of 16 rounds were clean, 6 are needed (in 9 the CPU was not idle during the pause, in 7 the CPU did other work, in 2 the hypervisor took the CPU)")
	runs := [][]probe.Outcome{nil, ran(slow, commit, seconds("commit.overwritten.p50", 1e-4)), ran(same, cold),
		ran(spoilt, commit), ran(append(wakes(2000, 1), same, cold, ratio("degree.efficiency.8", 0.4, 0.3, 0.5, 0.01))...),
		ran(ratio("siblings.harm.sibling", 0.55, 0.5, 0.6, 0.02), ratio("siblings.harm.other", 0.98, 0.96, 1.0, 0.02)),
		skipped("wakeup", "this process may use one CPU only, and it takes two: run it where more are allowed (see taskset -p, and the container's CPU set), or as root")}
	for _, file := range testkit.Sample(recorded, 6) {
		dir := t.TempDir()
		data := testkit.Must(os.ReadFile(file))(t)
		testkit.OK(t, host.ExtractArchive(data, dir))
		facts := host.Collect(t.Context(), host.Options{Tree: host.Tree{Root: dir}})
		for _, role := range check.Roles {
			results := check.Run(facts, role, check.All())
			for _, r := range runs {
				brief(t, answerOf(role, facts, results, r))
			}
		}
	}
}
