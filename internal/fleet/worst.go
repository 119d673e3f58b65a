package fleet

import (
	"fmt"

	"hostlab/internal/check"
	"hostlab/internal/lever"
	"hostlab/internal/screen"
)

// Worst is the host to look at first.
type Worst struct {
	Host string `json:"host"`
	Why  string `json:"why"`
}

// worst is the host that likely loses most active time to one lever; where none is known to lose any, the one with the
// most severe findings, and the most of them. nil: no host has a finding that matters.
func worst(hosts []*Host) (out *Worst) {
	most := 0.0
	for _, h := range hosts {
		if l := h.FirstLever(); l != nil && l.SecondsPerDay != nil && *l.SecondsPerDay > most {
			most = *l.SecondsPerDay
			out = &Worst{h.Name, fmt.Sprintf("its sessions together likely lose %s (%s)", ADay(most), lever.Title(l.Name))}
		}
	}
	if out != nil {
		return out
	}
	var highest, count int
	for _, h := range hosts {
		top, n, first := rank(check.Medium.String())-1, 0, ""
		seen := map[string]bool{}
		for _, f := range h.Findings {
			if seen[f.Check] { // in another role, too
				continue
			}
			seen[f.Check] = true
			switch r := rank(f.Severity); {
			case r > top:
				top, n, first = r, 1, f.Check
			case r == top:
				n++
			}
		}
		if first != "" && (top > highest || top == highest && n > count) {
			highest, count = top, n
			out = &Worst{h.Name, fmt.Sprintf("%s of %s severity, first %s (%s)", screen.Count(n, "finding"),
				check.Severities[top-1], first, CheckTitle(first))}
		}
	}
	return out
}
