package fleet

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/lever"
	"hostlab/internal/screen"
)

// Host is what is known of one now.
type Host struct {
	Name     string
	Machine  string // "" unknown
	First    time.Time
	Last     time.Time // its newest document
	Service  string    // that was watched; "": none
	Verdict  string
	Stratum  string     // its hardware in words; "": not known
	Role     check.Role // of its newest assessment or check; "": none
	Findings []Held
	Accepted []Held // for a reason and until a day
	Levers   []Lever
}

// Held is what a check says of a host, since when.
type Held struct {
	Host     string       `json:"host,omitempty"`
	Role     check.Role   `json:"role"`
	Check    string       `json:"check"`
	Status   check.Status `json:"status"`
	Severity string       `json:"severity"`
	Detail   string       `json:"detail"`
	Since    time.Time    `json:"since"`
	// Exception is the one by which it is accepted, or was until it expired; nil: none.
	Exception *check.Exception `json:"exception,omitempty"`
	// Stale: the host is not known any more, and this is what was said of it then.
	Stale bool `json:"stale,omitempty"`
}

// Change is a fact or a check's answer that became another.
type Change struct {
	Host    string    `json:"host"`
	Subject string    `json:"subject"` // the fact's path, or the check
	Before  string    `json:"before"`
	After   string    `json:"after"`
	At      time.Time `json:"at"` // of the first document that says so
}

// Stale reports whether nothing was heard of the host for so long. What was, is not known to hold any more.
func (h *Host) Stale(now time.Time, limit time.Duration) bool { return now.Sub(h.Last) > limit }

// BySeverity counts its findings.
func (h *Host) BySeverity() map[string]int {
	n := map[string]int{}
	for _, f := range h.Findings {
		n[f.Severity]++
	}
	return n
}

// First lever is the one that could give the host's service most.
func (h *Host) FirstLever() *Lever {
	var best *Lever
	for i := range h.Levers {
		l := &h.Levers[i]
		if l.Verdict == lever.Worthwhile && (best == nil || value(l) > value(best)) {
			best = l
		}
	}
	return best
}

func value(l *Lever) float64 {
	switch {
	case l.SecondsPerDay != nil:
		return *l.SecondsPerDay
	case l.Estimate != nil:
		return *l.Estimate
	}
	return 0
}

// Difference is a fact that two hosts do not share.
type Difference struct {
	Path  string `json:"path"`
	A     string `json:"a"`
	B     string `json:"b"`
	Lever string `json:"lever"` // what it belongs to; "" none
	// Gain is what that lever could at most give the service of one of the two; nil: not known.
	Gain *float64 `json:"at_most"`
	// Evidence says what is known of the effect; a difference alone shows none.
	Evidence string `json:"evidence"`
	Command  string `json:"command"` // the experiment that would show its effect; "" none
	study    string
}

// differs is the evidence of a difference that no experiment has measured.
const differs = "differs, effect not measured"

// trials are the experiments that show what a fact does, by the beginning of its path.
var trials = []struct{ prefix, study string }{
	{"frequency.policies[].governor", "live-governor"}, {"frequency.policies[].epp", "live-epp"}, {"idle.", "live-idle"},
	{"topology.smt", "live-smt"}, {"memory.thp", "live-thp"}, {"block[].scheduler", "live-scheduler"},
}

// trial is the study that shows what a fact does, and its command for a service; "": none does.
func trial(path, service string) (study, command string) {
	for _, t := range trials {
		if strings.HasPrefix(path, t.prefix) && service != "" {
			return t.study, "hostlab run " + t.study + " --set " + screen.Word("workload.service="+service)
		}
	}
	if strings.HasPrefix(path, "block") {
		return "log-device", "hostlab run log-device"
	}
	return "", ""
}

// Apart is a measurement in which two hosts differ by more than both intervals and both noise floors leave open.
type Apart struct {
	Name string      `json:"name"`
	A    Measurement `json:"a"`
	B    Measurement `json:"b"`
	// Ratio is B over A.
	Ratio float64 `json:"ratio"`
}

// levers say which part of the facts is whose.
var levers = []struct{ prefix, lever string }{
	{"frequency.", "clock"}, {"idle.", "idle"}, {"topology.smt", "smt"}, {"topology.", "cpus"},
	{"virtualization.", "cpus"},
	{"block", "log"}, {"memory.", "memory"}, {"network.", "network"},
}

// Diff compares two hosts: what measurements say first, then settings, those first whose lever could give most.
func Diff(a, b *Host, factsA, factsB map[string]Value, measuredA, measuredB map[string]Measurement) (apart []Apart,
	differ []Difference) {
	for name, x := range measuredA {
		if y, ok := measuredB[name]; ok && distinct(x, y) {
			apart = append(apart, Apart{name, x, y, *y.Value / *x.Value})
		}
	}
	slices.SortStableFunc(apart, func(x, y Apart) int {
		return cmp.Or(cmp.Compare(distance(y.Ratio), distance(x.Ratio)), strings.Compare(x.Name, y.Name))
	})
	paths := map[string]bool{}
	for p := range factsA {
		paths[p] = true
	}
	for p := range factsB {
		paths[p] = true
	}
	for path := range paths {
		x, y := shown(factsA, path), shown(factsB, path)
		if x == y {
			continue
		}
		d := Difference{Path: path, A: x, B: y, Evidence: differs}
		d.study, d.Command = trial(path, cmp.Or(a.Service, b.Service))
		for _, l := range levers {
			if strings.HasPrefix(path, l.prefix) {
				d.Lever = l.lever
				break
			}
		}
		for _, l := range slices.Concat(a.Levers, b.Levers) {
			if l.Name == d.Lever && l.AtMost != nil && (d.Gain == nil || *l.AtMost > *d.Gain) {
				d.Gain = l.AtMost
			}
		}
		differ = append(differ, d)
	}
	slices.SortStableFunc(differ, func(x, y Difference) int {
		return cmp.Or(cmp.Compare(gain(y), gain(x)), strings.Compare(x.Path, y.Path))
	})
	return apart, differ
}

// distinct reports intervals that do not meet, and a difference beyond both noise floors.
func distinct(x, y Measurement) bool {
	if x.Value == nil || y.Value == nil || x.Low == nil || x.High == nil || y.Low == nil || y.High == nil ||
		*x.Value <= 0 ||
		*y.Value <= 0 {
		return false
	}
	floor := 0.0
	for _, n := range []*float64{x.Noise, y.Noise} {
		if n != nil {
			floor = max(floor, *n)
		}
	}
	return (*x.High < *y.Low || *y.High < *x.Low) && distance(*y.Value / *x.Value) > 1+floor
}

// distance is how many times as large the larger one is.
func distance(ratio float64) float64 { return max(ratio, 1/ratio) }

func gain(d Difference) float64 {
	if d.Gain == nil {
		return -1
	}
	return *d.Gain
}

// shown is a fact for comparison. A path that one hostlab does not know is no difference of the host.
func shown(facts map[string]Value, path string) string {
	v, ok := facts[path]
	switch {
	case !ok:
		return "not there"
	case v.State != "ok":
		return v.State
	case v.Unit != "":
		return v.Text + " " + v.Unit
	}
	return v.Text
}
