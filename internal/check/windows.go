package check

import (
	"cmp"
	"fmt"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/setting"
)

// Power schemes that Windows brings along.
const (
	schemeHigh     = "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c"
	schemeBalanced = "381b4222-f694-41f0-9685-ff5bb260df2e"
	schemeSaver    = "a1841308-3541-4fab-bc81-f71556f20b4a"
	schemeUltimate = "e9a42b02-d5df-448d-aa00-03f14749eb61"
)

const notWindows = "this is not Windows"

// windows holds the checks of frequencies on Windows.
var windows = []Check{
	{
		ID: "PWR-010", Subject: Frequency, Title: "Windows power plan below full processor state",
		Severity: inProduction(High, High),
		absent:   "no power plan could be found", look: lookWindowsPlan, advise: adviseWindowsPlan,
	},
	{
		ID: "PWR-011", Subject: Frequency, Title: "Windows processors below their maximum clock",
		Severity: inProduction(Medium, Medium),
		absent:   "Windows reports no processor frequencies", ok: "processors run at their maximum", look: lookWindowsMHz,
		fix: remedy{run("powercfg", "/query", "SCHEME_CURRENT", "SUB_PROCESSOR"),
			remark("if the plan is right, the firmware setup must leave power control to the operating system")},
	},
}

func lookWindowsPlan(f *host.Facts, _ Role) view {
	w := f.Windows
	if w == nil {
		return view{absent: notWindows}
	}
	percent := func(v int64) string { return fmt.Sprintf("%d %%", v) }
	v := see(readAs(w.ThrottleMin, percent, atLeast[int64](100)), readAs(w.ThrottleMax, percent, atLeast[int64](100)),
		aside(w.ActiveScheme), aside(w.SchemeName), aside(w.PolicyScheme))
	v.ok = "the plan " + schemeTitle(w) + " holds processors at full state; core parking is not judged"
	v.bad = fmt.Sprintf("the plan %s lets processors run between %s and %s of full state", schemeTitle(w),
		v.readings[0].value, v.readings[1].value)
	v.fix = windowsFix(f)
	return v
}

func schemeTitle(w *host.Windows) string {
	guid := strings.ToLower(strings.Trim(w.ActiveScheme.Or(""), "{}"))
	known := map[string]string{schemeHigh: "High performance", schemeBalanced: "Balanced",
		schemeSaver: "Power saver", schemeUltimate: "Ultimate performance"}
	return cmp.Or(w.SchemeName.Or(known[guid]), cmp.Or(known[guid], cmp.Or(guid, "in force")))
}

func windowsFix(f *host.Facts) remedy {
	set := func(name string) command {
		return run("powercfg", "/setacvalueindex", "SCHEME_CURRENT", "SUB_PROCESSOR", name, "100")
	}
	advice := adviseWindowsPlan(f, "")
	switch {
	case f.Windows.PolicyScheme.Or("") != "":
		return remedy{remark("a group policy forces this plan, so powercfg cannot change it: set Computer Configuration > " +
			"Administrative Templates > System > Power Management > Select an active power plan to High Performance; then:"),
			run("gpupdate", "/target:computer")}
	case len(advice) == 0:
		return remedy{set("PROCTHROTTLEMIN"), set("PROCTHROTTLEMAX"), run("powercfg", "/setactive", "SCHEME_CURRENT")}
	}
	scheme, _ := setting.Find(advice[0].Name)
	return remedy{run("powercfg", "/setactive", advice[0].Value), remark(scheme.Effect)}
}

// adviseWindowsPlan is another scheme. A group policy's cannot be set, and values that were edited are for a person to
// judge.
func adviseWindowsPlan(f *host.Facts, _ Role) []setting.Assignment {
	w := f.Windows
	if w == nil || w.PolicyScheme.Or("") != "" || strings.Contains(strings.ToLower(w.ActiveScheme.Or("")), schemeHigh) {
		return nil
	}
	return []setting.Assignment{{Name: "power_scheme", Value: "SCHEME_MIN"}}
}

// windowsSlack is how far below its maximum a processor may read before it
// counts as slow: Windows rounds MHz.
const windowsSlack = 0.95

func lookWindowsMHz(f *host.Facts, _ Role) (v view) {
	if f.Windows == nil {
		return view{absent: notWindows}
	}
	worst := 1.0
	for _, c := range f.Windows.Processors {
		most, known := c.Max.Get()
		if !known {
			v.readings = append(v.readings, whole(c.Max))
			continue
		}
		for _, fact := range []host.Fact[int64]{c.Current, c.Limit} {
			r := readAs(fact, func(hz int64) string { return hertz(hz) + " of " + hertz(most) },
				func(hz int64) bool { return float64(hz) >= windowsSlack*float64(most) })
			r.path = fmt.Sprintf("%s/CPU%d", r.path, c.CPU)
			if r.bad && most > 0 {
				worst = min(worst, float64(fact.Value)/float64(most))
			}
			v.readings = append(v.readings, r)
		}
		if c.OfMaximum.State != host.StateOK { // a hypervisor may hide the counter; the calls above still tell
			continue
		}
		r := readAs(c.OfMaximum, func(p float64) string { return fmt.Sprintf("%.0f %%", p) },
			func(p float64) bool { return p >= 100*windowsSlack })
		r.path = fmt.Sprintf("%s/CPU%d", r.path, c.CPU)
		if r.bad {
			worst = min(worst, c.OfMaximum.Value/100)
		}
		v.readings = append(v.readings, r)
	}
	v.bad = fmt.Sprintf("when looked at, processors ran or were limited at down to %.0f %% of their maximum", 100*worst)
	return v
}
