package fleet

import (
	"cmp"
	"fmt"
	"slices"

	"hostlab/internal/check"
	"hostlab/internal/lever"
	"hostlab/internal/screen"
)

// Worst is the host to look at first.
type Worst struct {
	Host   string `json:"host"`
	Others int    `json:"others"` // that are as bad off
	Why    string `json:"why"`
	Type   string `json:"type"` // what to type first
	What   string `json:"what"` // where to type it, and what that is for
	Here   bool   `json:"-"`    // it asks this store
}

// worst is the host that may lose most active time to one lever; where none is known to lose any, the one with the
// most severe findings, and the most of them. nil: no host has a finding that matters.
func worst(hosts []*Host) (out *Worst) {
	lost := func(h *Host) float64 {
		if l := h.FirstLever(); l != nil && l.SecondsPerDay != nil {
			return *l.SecondsPerDay
		}
		return 0
	}
	if of, others := firstOf(hosts, func(a, b *Host) int {
		if x, y := lost(a), lost(b); ADay(x) != ADay(y) {
			return cmp.Compare(x, y)
		}
		return 0
	}); of != nil && lost(of) > 0 {
		l := of.FirstLever()
		w := &Worst{Host: of.Name, Others: others, Type: l.Next.Command, What: "on " + of.Name + ": " + lever.Title(l.Name),
			Why: fmt.Sprintf("its sessions may lose %s, added up (%s)", ADay(lost(of)), lever.Title(l.Name))}
		// A host of the same hardware that loses least shows more than another look at this one.
		peers := slices.DeleteFunc(slices.Clone(hosts), func(h *Host) bool { return !of.alike(h) })
		best, _ := firstOf(peers, func(a, b *Host) int { return cmp.Compare(lost(b), lost(a)) })
		if best != nil && lost(best) < lost(of)/2 {
			w.Type = "hostlab fleet diff " + screen.Word(of.Name) + " " + screen.Word(best.Name)
			w.Here, w.What = true, "see what differs from "+best.Name+", which has the same hardware and loses less"
		}
		return w
	}
	of, others := firstOf(hosts, func(a, b *Host) int {
		return slices.Compare(counts(a), counts(b))
	})
	if of == nil {
		return nil
	}
	top, n, first := gravest(of)
	if n == 0 {
		return nil
	}
	return &Worst{Host: of.Name, Others: others, Type: "hostlab check --explain " + first,
		What: "on " + of.Name + ": " + first,
		Why: fmt.Sprintf("%s of %s severity, first %s (%s)", screen.Count(n, "finding"), check.Severities[top-1], first,
			CheckTitle(first))}
}

// alike reports that another host has the same hardware and role, as far as they are known.
func (h *Host) alike(other *Host) bool {
	return h != other && h.Stratum != "" && h.Stratum == other.Stratum && h.Role == other.Role
}

// firstOf is the first of the hosts that are worst by an order, and how many others are as bad.
func firstOf(hosts []*Host, order func(a, b *Host) int) (of *Host, others int) {
	for _, h := range hosts {
		switch {
		case of == nil || order(h, of) > 0:
			of, others = h, 0
		case order(h, of) == 0:
			others++
		}
	}
	return of, others
}

// counts are how many checks find something on a host by severity, from high to low.
func counts(h *Host) []int {
	n := make([]int, check.High-check.Low+1)
	for i, f := range h.Findings {
		again := slices.ContainsFunc(h.Findings[:i], func(o Held) bool { return o.Check == f.Check }) // in another role
		if r := rank(f.Severity) - rank(check.Low.String()); !again && r >= 0 {
			n[len(n)-1-r]++
		}
	}
	return n
}

// gravest counts the checks of the highest severity that find something on a host, from medium on, and names the first.
func gravest(h *Host) (top, n int, first string) {
	top = rank(check.Medium.String())
	for i, f := range h.Findings {
		if slices.ContainsFunc(h.Findings[:i], func(o Held) bool { return o.Check == f.Check }) { // in another role, too
			continue
		}
		switch r := rank(f.Severity); {
		case r > top || r == top && n == 0:
			top, n, first = r, 1, f.Check
		case r == top:
			n++
		}
	}
	return top, n, first
}
