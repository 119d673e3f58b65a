package check

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/setting"
)

// Advice is a setting that a check recommends, in the words of package setting.
type Advice struct {
	Check   string // ID
	Setting string // governor
	Object  string // sda; "" for all
	Value   string // performance
}

// advisers say what to set where that depends on the host. All other advice is a value of its setting, by the
// check's ID. A check with neither advises nothing that a program should write by itself: Unsettable says why.
var advisers = map[string]func(f *host.Facts, r Role) []Advice{
	epp.ID:            adviseEPP,
	frequencyRange.ID: adviseRange,
	maxMapCount.ID: func(f *host.Facts, r Role) []Advice {
		return []Advice{{Setting: "max_map_count", Value: strconv.FormatInt(mapsWanted(f, r), 10)}}
	},
	aioMaxNr.ID: func(f *host.Facts, _ Role) []Advice {
		return []Advice{{Setting: "aio_max_nr", Value: aioWanted(f)}}
	},
	clocksource.ID: func(f *host.Facts, _ Role) []Advice {
		if c := betterClock(f); c != "" {
			return []Advice{{Setting: "clocksource", Value: c}}
		}
		return nil
	},
	nvmeTimeout.ID: func(f *host.Facts, _ Role) []Advice {
		return []Advice{{Setting: "nvme_io_timeout", Value: strconv.FormatUint(longestNVMe(f), 10)}}
	},
	scheduler.ID: func(f *host.Facts, _ Role) (list []Advice) {
		for _, b := range disks(f) {
			if c, ok := b.Scheduler.Get(); ok && sorted(f, b) {
				value := "none"
				if !c.Has("none") {
					value = "noop"
				}
				list = append(list, Advice{Setting: "io_scheduler", Object: b.Name, Value: value})
			}
		}
		return list
	},
}

// ask returns what a check advises to set.
func ask(id string, f *host.Facts, r Role) (list []Advice) {
	if adviser := advisers[id]; adviser != nil {
		return adviser(f, r)
	}
	for _, s := range setting.All() {
		if v := s.Advice[id]; v != "" {
			list = append(list, Advice{Setting: s.Name, Value: v})
		}
	}
	return list
}

// Unsettable says why a finding of a check is not something to write: what a person, a reboot or a
// daemon must do. Checks that are neither here nor advised are left to a person.
var Unsettable = map[string]string{
	latencyLimit.ID: "IDL-001 is the other cure, and stays without a program that holds it",
	idleCmdline.ID:  "the kernel command line takes a reboot",
	smt.ID:          "decide by measurement",
	noMerges.ID:     "measure before changing it",
	readAhead.ID:    "it pays for scans only: measure before changing it",
	biosLimit.ID:    "the firmware sets it",
	shmSize.ID:      "it is a mount option",
}

// adviseEPP advises nothing where EPP is locked: choosing the governor anew is what makes
// the kernel write it, which is more than one value (PWR-003).
func adviseEPP(f *host.Facts, _ Role) []Advice {
	for _, p := range onlinePolicies(f) {
		if p.Governor.Or("") == "performance" && !fullEPP(p.EPP.Or("performance")) && p.Driver.Or("") != "amd-pstate-epp" {
			return nil
		}
	}
	return []Advice{{Setting: "epp", Value: "performance"}}
}

func adviseRange(f *host.Facts, _ Role) (list []Advice) {
	if pct, ok := f.Frequency.MaxPerfPct.Get(); ok && pct < 100 {
		list = append(list, Advice{Setting: "max_perf_pct", Value: "100"})
	}
	for _, p := range onlinePolicies(f) {
		top, known := ceiling(p).Get()
		if now, ok := p.Max.Get(); ok && known && now < top {
			return append(list, Advice{Setting: "max_freq", Value: "max"})
		}
	}
	return list
}

// Advise returns what a host's findings of at least a severity recommend to set, in the order
// of the checks, each setting and object once. Findings that advise nothing that can be
// written are returned as well.
func Advise(f *host.Facts, r Role, results []Result, least Severity) (list []Advice, rest []Result) {
	for _, res := range results {
		if res.Status != Finding || res.Severity < least {
			continue
		}
		n := len(list)
		list = add(list, res.ID, ask(res.ID, f, r))
		if len(list) == n && !slices.ContainsFunc(list, func(a Advice) bool { return advises(f, r, res.ID, a) }) {
			rest = append(rest, res)
		}
	}
	return list, rest
}

// advises reports that a check asks for what another one has asked for already.
func advises(f *host.Facts, r Role, id string, a Advice) bool {
	return slices.ContainsFunc(ask(id, f, r), func(b Advice) bool { return a.Setting == b.Setting && a.Object == b.Object })
}

// Recommended returns what the checks of a role recommend on any host, whatever this one
// has, for a profile that many hosts share. Information alone is left out, and so is what depends on the host.
func Recommended(r Role) (list []Advice) {
	f := &host.Facts{}
	for _, c := range all {
		sev, applies := c.Severity[r]
		switch {
		case !applies || sev < Low || c.ID == nvmeTimeout.ID:
		case c.ID == scheduler.ID:
			list = append(list, Advice{c.ID, "io_scheduler", "", "none"})
		case c.ID == frequencyRange.ID:
			list = append(list, Advice{c.ID, "max_perf_pct", "", "100"}) // a boot leaves max_freq at the processor's own
		default:
			list = add(list, c.ID, ask(c.ID, f, r))
		}
	}
	return list
}

func add(list []Advice, id string, more []Advice) []Advice {
	for _, a := range more {
		a.Check = id
		if !slices.ContainsFunc(list, func(b Advice) bool { return a.Setting == b.Setting && a.Object == b.Object }) {
			list = append(list, a)
		}
	}
	return list
}

// mapsWanted is the number of mappings that MEM-007 asks for.
func mapsWanted(f *host.Facts, role Role) int64 {
	switch {
	case role == ProductionApp || runs(f, "hana"):
		return math.MaxInt32
	case runs(f, "sqlserver"):
		return 1600000
	}
	return 1048576
}

// aioWanted is the number of requests that KRN-006 asks for.
func aioWanted(f *host.Facts) string {
	if runs(f, "hana") {
		return "18446744073709551615"
	}
	return "1048576"
}

// betterClock is an offered clock source that is read without a system call; or "".
func betterClock(f *host.Facts) string {
	for _, c := range strings.Fields(f.Kernel.Clocksources.Or("")) {
		if c == "tsc" || c == "hyperv_clocksource_tsc_page" {
			return c
		}
	}
	return ""
}
