package check

import (
	"slices"
	"testing"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
)

func planned(guid, policy string, lo, hi int64) func(*host.Facts) {
	return func(f *host.Facts) {
		w := &host.Windows{
			ActiveScheme: known(guid, "PowerGetActiveScheme"),
			ThrottleMin:  host.Known(lo, "%", "PROCTHROTTLEMIN"),
			ThrottleMax:  host.Known(hi, "%", "PROCTHROTTLEMAX"),
			PolicyScheme: absent[string](`HKLM\SOFTWARE\Policies\Microsoft\Power\PowerSettings`),
		}
		if policy != "" {
			w.PolicyScheme = known(policy, `HKLM\SOFTWARE\Policies\Microsoft\Power\PowerSettings`)
		}
		f.Windows = w
	}
}

func clocked(current, limit float64) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Windows = &host.Windows{}
		for i := range 4 {
			f.Windows.Processors = append(f.Windows.Processors, host.WindowsCPU{CPU: i,
				Current: hz(current, "CallNtPowerInformation"), Max: hz(2.4, "CallNtPowerInformation"),
				Limit: hz(limit, "CallNtPowerInformation")})
		}
	}
}

var windowsCases = []lookCase{
	{id: "PWR-010", name: "Balanced", facts: planned(schemeBalanced, "", 5, 100), want: Finding,
		evidence: "PROCTHROTTLEMIN = 5 %",
		detail:   "Balanced", remedy: "powercfg /setactive SCHEME_MIN"},
	{id: "PWR-010", name: "High performance by name only", facts: planned(schemeHigh, "", 5, 100), want: Finding,
		detail: "High performance", remedy: "PROCTHROTTLEMIN 100"},
	{id: "PWR-010", name: "forced by policy", facts: planned(schemeSaver, schemeSaver, 5, 75), want: Finding,
		remedy: "group policy"},
	{id: "PWR-010", name: "full state", facts: planned(schemeHigh, "", 100, 100), want: OK},
	{id: "PWR-010", name: "Balanced edited to full state", facts: planned(schemeBalanced, "", 100, 100), want: OK,
		detail: "Balanced"},
	{id: "PWR-010", name: "development", role: Development, facts: planned(schemeBalanced, "", 5, 100),
		want: NotApplicable},
	{id: "PWR-010", name: "Linux", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "PWR-010", name: "settings denied", want: Unknown, facts: func(f *host.Facts) {
		planned(schemeBalanced, "", 0, 0)(f)
		f.Windows.ThrottleMin, f.Windows.ThrottleMax = denied[int64]("PROCTHROTTLEMIN"), denied[int64]("PROCTHROTTLEMAX")
	}},

	{id: "PWR-011", name: "half speed", facts: clocked(1.2, 2.4), want: Finding, detail: "50 %",
		evidence: "CallNtPowerInformation/CPU{0-3} = 1.2 GHz of 2.4 GHz", remedy: "powercfg /query"},
	{id: "PWR-011", name: "limited", facts: clocked(2.4, 1.8), want: Finding, detail: "75 %"},
	{id: "PWR-011", name: "a little slow", facts: clocked(2.25, 2.4), want: Finding, detail: "94 %"},
	{id: "PWR-011", name: "only the counter tells", want: Finding, detail: "46 %", evidence: "= 46 %",
		facts: func(f *host.Facts) {
			clocked(2.4, 2.4)(f)
			f.Windows.Processors[2].OfMaximum = host.Known(46.0, "%", `\Processor Information(*)\% of Maximum Frequency`)
		}},
	{id: "PWR-011", name: "no counter", want: OK, facts: func(f *host.Facts) {
		clocked(2.4, 2.4)(f)
		f.Windows.Processors[2].OfMaximum = absent[float64](`\Processor Information(*)\% of Maximum Frequency`)
	}},
	{id: "PWR-011", name: "full", facts: clocked(2.4, 2.4), want: OK},
	{id: "PWR-011", name: "rounded", facts: clocked(2.394, 2.4), want: OK},
	{id: "PWR-011", name: "none listed", facts: func(f *host.Facts) { f.Windows = &host.Windows{} }, want: NotApplicable},
	{id: "PWR-011", name: "failed", want: Unknown, facts: func(f *host.Facts) {
		clocked(2.4, 2.4)(f)
		f.Windows.Processors[0].Max = failed[int64]("CallNtPowerInformation")
	}},
}

// TestWindowsIsNotJudgedAsLinux: what Linux alone has is said to be so, and what Windows
// tells is judged.
func TestWindowsIsNotJudgedAsLinux(t *testing.T) {
	f := &host.Facts{Windows: &host.Windows{}}
	f.Storage = []host.Storage{{Path: `R:\log`, Purpose: "log-dir",
		Class: host.Known(host.ClassMemory, "", "GetVolumeInformation")}}
	seen := 0
	for _, r := range Run(f, ProductionDB, All()) {
		also := slices.Contains(alsoWindows, r.ID)
		if also {
			seen++
		}
		if (r.Detail == notLinux) == also && r.Detail != "not judged for the role production-db" {
			t.Errorf("%s: %s %s", r.ID, r.Status, r.Detail)
		}
		if r.ID == "STO-006" && r.Status != Finding {
			t.Errorf("a log in memory: %s %s", r.Status, r.Detail)
		}
	}
	testkit.Is(t, len(alsoWindows), seen, "of the checks", alsoWindows, "exist")
}
