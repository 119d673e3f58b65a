package check

import "hostlab/internal/host"

var smt = Check{
	ID: "SMT-001", Lever: LeverSMT, Title: "Simultaneous multithreading (SMT)",
	Why: "Two hardware threads of a core share its caches and issue slots. A sibling that scans memory can starve a " +
		"thread that takes locks; other loads gain from the second thread. Which of the two holds depends on the load " +
		"and the processor, so only a measurement can tell.",
	Source: "published lock/scan measurements with hyper-threading on SQL Server; kernel documentation on SMT control",
	Disagree: "Reports range from a tenth faster without SMT to a fifth faster with it, so no value is recommended. " +
		"Do not switch it off before measuring both throughputs.",
	Severity: everywhere(Info, Info, Info),
	Look: func(f *host.Facts, _ Role) Outcome {
		control := f.Topology.SMTControl.Or("")
		if control == "notsupported" || control == "notimplemented" {
			return Outcome{Status: NotApplicable, Evidence: group([]reading{aside(f.Topology.SMTControl)}),
				Detail: "the processor (or what the hypervisor shows of it) has no SMT"}
		}
		rs := []reading{read(f.Topology.SMTActive, isFalse), aside(f.Topology.SMTControl)}
		return judge(rs, answers{
			absent: "the kernel does not say whether SMT is in use",
			ok:     "no two online CPUs share a core, as far as the kernel knows",
			bad: func([]reading) (string, string) {
				return "siblings share cores; measure what a scanning sibling costs before deciding", "hostlab assess"
			},
		})
	},
}
