package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/screen"
)

// Severities are the names of the severities, by value.
var Severities = []string{Info: "info", Low: "low", Medium: "medium", High: "high"}

// String returns the severity's name: info, low, medium or high.
func (s Severity) String() string {
	if s < 0 || int(s) >= len(Severities) {
		return fmt.Sprintf("severity(%d)", int(s))
	}
	return Severities[s]
}

// MarshalText writes the severity's name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Find returns the check of an ID, in upper or lower case.
func Find(id string) (Check, error) {
	ids := make([]string, len(all()))
	for i, c := range all() {
		if ids[i] = c.ID; strings.EqualFold(c.ID, strings.TrimSpace(id)) {
			return c, nil
		}
	}
	hint := ""
	if near := screen.Meant(strings.ToUpper(id), ids); near != "" {
		hint = " (did you mean " + near + "?)"
	}
	return Check{}, fmt.Errorf("unknown check %q%s; hostlab check --explain list names them all", id, hint)
}

// Run looks at facts through each check and returns one result a check, in
// their order. It reads nothing but the facts; nil facts are as none at all.
func Run(f *host.Facts, role Role, checks []Check) []Result {
	if f == nil {
		f = &host.Facts{}
	}
	results := make([]Result, 0, len(checks))
	for _, c := range checks {
		results = append(results, runOne(f, role, c))
	}
	return results
}

func runOne(f *host.Facts, role Role, c Check) Result {
	sev, applies := c.Severity[role]
	subject := c.Subject
	o := Result{Status: NotApplicable, Detail: whyNotJudged(c, role)}
	switch {
	case applies && f.Windows != nil && !slices.Contains(alsoWindows, c.ID):
		o.Detail = notLinux
	case applies && c.For != nil && len(of(c.For, servers(f))) == 0:
		o = withoutServer(f, c)
	case applies:
		v := c.sees(f, role)
		if v.most != nil {
			sev = min(sev, *v.most)
		}
		if v.fix == nil && c.fix == nil && len(wrong(v.readings)) > 0 {
			v.fix = sets(f, c.advised(f, role))
		}
		if o = elsewhere(f, c, behindMask(f, c, c.judge(v))); v.apart && o.Status == Finding {
			subject = ""
		}
		if o.Status == Finding {
			o.Of = owners(f, c, wrong(v.readings))
			for _, a := range c.advised(f, role) {
				o.Sets = append(o.Sets, a.Name)
			}
		}
	}
	o.Engines = c.For
	o.ID, o.Title, o.Severity, o.Why, o.Source, o.Disagree, o.Subject = c.ID, c.Title, sev, c.Why, c.Source, c.Disagree,
		subject
	return o
}

// owners are the servers of what is not as it should be. Where no reading has one, it is of all that the check speaks
// for.
func owners(f *host.Facts, c Check, wrong []reading) (pids []int) {
	for _, r := range wrong {
		if pids = append(pids, r.of); r.of != 0 {
			continue
		}
		pids = nil
		for _, d := range of(c.For, servers(f)) {
			pids = append(pids, d.PID)
		}
		return pids
	}
	return pids
}

// withoutServer is the answer of a check whose servers are not seen: unknown where /proc is hidden.
func withoutServer(f *host.Facts, c Check) Result {
	if r := whole(f.Kernel.PIDMax); f.Kernel.PIDMax.State == host.StateMasked {
		return Result{Status: Unknown, Evidence: group([]reading{r}), Detail: whyUnknown([]reading{r})}
	}
	return Result{Status: NotApplicable, Detail: c.wouldApply(f)}
}

// notLinux is what most checks say of Windows.
const notLinux = "a setting of Linux, and this is Windows"

// alsoWindows are the checks that judge facts which Windows tells, too. All others
// judge files of Linux.
var alsoWindows = []string{"PWR-010", "PWR-011", "SMT-001", "STO-005", "STO-006", "STO-007"}

// behindMask turns the answer that a check of the CPUs has nothing to look at into
// unknown where their folder is hidden: the lists of policies and idle states are
// empty then, and say nothing.
func behindMask(f *host.Facts, c Check, o Result) Result {
	ofCPUs := c.Subject == Frequency || c.Subject == Idle || c.Subject == SMT
	if o.Status != NotApplicable || !ofCPUs || o.Detail == notWindows || f.Topology.Present.State != host.StateMasked {
		return o
	}
	r := whole(f.Topology.Present)
	return Result{Status: Unknown, Evidence: group([]reading{r}), Detail: whyUnknown([]reading{r})}
}

// ofIPC are the checks of System V IPC, of which each namespace has its own.
var ofIPC = []string{"KRN-001", "KRN-002", "KRN-003", "KRN-004", "KRN-014"}

// elsewhere turns an answer into unknown whose settings are those of hostlab's own network or IPC, and a server has
// another: all servers that it speaks for, or one of those where the rest is well.
func elsewhere(f *host.Facts, c Check, o Result) Result {
	network := strings.HasPrefix(c.ID, "NET-")
	if !network && !slices.Contains(ofIPC, c.ID) || o.Status == Unknown || o.Status == NotApplicable {
		return o
	}
	list := servers(f)
	if c.For != nil {
		list = of(c.For, list)
	}
	var away []reading
	var which host.Database
	for _, d := range list {
		own, what := d.OwnIPC, "System V IPC"
		if network {
			own, what = d.OwnNetwork, "network"
		}
		r := read(own, is(false))
		if r.bad || r.unknown() {
			r.value = map[bool]string{true: "its own " + what, false: r.value}[r.bad]
			away, which = append(away, r), d
		}
	}
	if len(away) == 0 || o.Status == Finding && len(away) < len(list) {
		return o
	}
	return Result{Status: Unknown, Evidence: append(group(away), o.Evidence...),
		Detail: "it is not known what " + nameOf(which) + " has: it is " +
			"in a container with " + map[bool]string{true: "a network", false: "IPC"}[network] +
			" of its own; run hostlab in there"}
}

// whyNotJudged says why a check says nothing to a role.
func whyNotJudged(c Check, role Role) string {
	if role == Development && (c.Subject == Frequency || c.Subject == Idle) {
		return "a development system may save energy: its response times may vary"
	}
	return "not judged for the role " + string(role)
}

// Worst returns the highest severity among findings, and false if there are none.
func Worst(results []Result) (Severity, bool) {
	worst, found := Info, false
	for _, r := range results {
		if r.Status != Finding {
			continue
		}
		found = true
		worst = max(worst, r.Severity)
	}
	return worst, found
}

// withStatus returns the results of one status, in their order.
func withStatus(results []Result, status Status) []Result {
	var out []Result
	for _, r := range results {
		if r.Status == status {
			out = append(out, r)
		}
	}
	return out
}

// Findings returns the results that found something, the worst first, in their order within
// a severity.
func Findings(results []Result) []Result { return worstFirst(withStatus(results, Finding)) }

// ByGain returns the findings that weigh more than information: those first whose subject could gain a service
// most, as shares of its time tell by subject, then the worst.
func ByGain(results []Result, gains map[string]float64) []Result {
	found := slices.DeleteFunc(Findings(results), func(r Result) bool { return r.Severity == Info })
	slices.SortStableFunc(found, func(a, b Result) int { return cmp.Compare(gains[b.Subject], gains[a.Subject]) })
	return found
}

func worstFirst(results []Result) []Result {
	slices.SortStableFunc(results, func(a, b Result) int { return cmp.Compare(b.Severity, a.Severity) })
	return results
}
