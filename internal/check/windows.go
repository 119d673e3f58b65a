package check

import (
	"fmt"
	"strings"

	"hostlab/internal/host"
)

// Power schemes that Windows brings along.
const (
	schemeHigh     = "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c"
	schemeBalanced = "381b4222-f694-41f0-9685-ff5bb260df2e"
	schemeSaver    = "a1841308-3541-4fab-bc81-f71556f20b4a"
	schemeUltimate = "e9a42b02-d5df-448d-aa00-03f14749eb61"
)

const notWindows = "this is not Windows"

var windowsPlan = Check{
	ID: "PWR-010", Lever: LeverFrequency, Title: "Windows power plan's processor state",
	Why: "The plan's minimum and maximum processor state bound the clock. Under Balanced, the default since Windows " +
		"Server 2008 R2, the minimum is low and the clock climbs only after load was seen for a while; dialog steps of " +
		"an application server, short bursts with waits between, were measured to take nearly twice the CPU time. " +
		"Where response time need not be determined, Balanced saves energy and heat.",
	Source: "Microsoft support article 2207548; SAP on SQL Server team (Balanced against High performance); dbatools; sp_Blitz",
	Disagree: "Tools judge the plan by its name or GUID. A plan's name proves nothing, as its settings can be " +
		"edited, so the states inside it are read. A group policy wins over the plan chosen on the machine.",
	Severity: inProduction(High, High),
	Look:     lookWindowsPlan,
}

func lookWindowsPlan(f *host.Facts, _ Role) Outcome {
	w := f.Windows
	if w == nil {
		return notApplicable(notWindows)
	}
	full := func(v int64) bool { return v >= 100 }
	percent := func(v int64) string { return fmt.Sprintf("%d %%", v) }
	rs := []reading{
		readAs(w.ThrottleMin, percent, full), readAs(w.ThrottleMax, percent, full),
		aside(w.ActiveScheme), aside(w.SchemeName), aside(w.PolicyScheme),
	}
	name := schemeTitle(w)
	return judge(rs, answers{
		absent: "no power plan could be found",
		ok:     "the plan " + name + " holds processors at full state; core parking is not judged",
		bad: func(bad []reading) (string, string) {
			detail := fmt.Sprintf("the plan %s lets processors run between %s and %s of full state", name,
				rs[0].value, rs[1].value)
			return detail, windowsFix(w)
		},
	})
}

func schemeTitle(w *host.Windows) string {
	guid := strings.ToLower(strings.Trim(w.ActiveScheme.Or(""), "{}"))
	known := map[string]string{schemeHigh: "High performance", schemeBalanced: "Balanced",
		schemeSaver: "Power saver", schemeUltimate: "Ultimate performance"}
	return orElse(w.SchemeName.Or(known[guid]), orElse(known[guid], orElse(guid, "in force")))
}

func windowsFix(w *host.Windows) string {
	if forced := w.PolicyScheme.Or(""); forced != "" {
		return "# a group policy forces this plan, so powercfg cannot change it: set Computer Configuration > " +
			"Administrative Templates > System > Power Management > Select an active power plan to High Performance; then:\n" +
			"gpupdate /target:computer"
	}
	if strings.Contains(strings.ToLower(w.ActiveScheme.Or("")), schemeHigh) {
		return "powercfg /setacvalueindex SCHEME_CURRENT SUB_PROCESSOR PROCTHROTTLEMIN 100\n" +
			"powercfg /setacvalueindex SCHEME_CURRENT SUB_PROCESSOR PROCTHROTTLEMAX 100\n" +
			"powercfg /setactive SCHEME_CURRENT"
	}
	return "powercfg /setactive " + schemeHigh
}

// windowsSlack is how far below its maximum a processor may read before it
// counts as slow: Windows rounds MHz.
const windowsSlack = 0.95

var windowsMHz = Check{
	ID: "PWR-011", Lever: LeverFrequency, Title: "Windows processors' frequency against their maximum",
	Why: "What processors run at shows whether the plan is obeyed. A limit below the maximum is a cap by the plan, the " +
		"firmware or heat. If the firmware keeps power control to itself, changing plans does nothing and only these " +
		"numbers tell.",
	Source: "SAP on SQL Server team (the % of Maximum Frequency counter); PerfSpect; Windows CallNtPowerInformation",
	Disagree: "The current frequency is that of one moment, and on processors that choose it themselves Windows " +
		"reports a nominal value: a low reading under a full plan points at the firmware, a full one proves little.",
	Severity: inProduction(Medium, Medium),
	Look:     lookWindowsMHz,
}

func lookWindowsMHz(f *host.Facts, _ Role) Outcome {
	if f.Windows == nil {
		return notApplicable(notWindows)
	}
	var rs []reading
	var worst int64
	var worstMax int64
	for _, c := range f.Windows.CPUMHz {
		max, known := c.Max.Get()
		if !known {
			rs = append(rs, whole(c.Max))
			continue
		}
		for _, v := range []host.Fact[int64]{c.Current, c.Limit} {
			r := readAs(v, func(hz int64) string { return hertz(hz) + " of " + hertz(max) },
				func(hz int64) bool { return float64(hz) >= windowsSlack*float64(max) })
			r.path = fmt.Sprintf("%s/CPU%d", r.path, c.CPU)
			if r.bad && (worstMax == 0 || float64(v.Value)/float64(max) < float64(worst)/float64(worstMax)) {
				worst, worstMax = v.Value, max
			}
			rs = append(rs, r)
		}
	}
	return judge(rs, answers{
		absent: "Windows reports no processor frequencies",
		ok:     "processors run at their maximum",
		bad: func([]reading) (string, string) {
			return fmt.Sprintf("when looked at, processors ran or were limited at down to %s of their maximum",
					percentOf(worst, worstMax)),
				"powercfg /query SCHEME_CURRENT SUB_PROCESSOR\n" +
					"# if the plan is right, the firmware setup must leave power control to the operating system"
		},
	})
}
