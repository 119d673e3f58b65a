package probe

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Conditions of the lock cells.
const (
	harmAlone = iota
	harmAgain // alone once more, for the noise floor
	harmSibling
	harmOther
	harmConds
)

// harmPlace says where the lock and the scanner run. Sibling and Other are -1
// where the host has no such CPU, with the reason in Why.
type harmPlace struct {
	Lock, Sibling, Other int
	Basis                [harmConds]string // how the relation is known: measured or reported
	Why                  [harmConds]string
}

// harmPlaces picks the CPUs: a pair measured as siblings, or reported as such
// where measurement says nothing against it, and a third CPU on another core.
func harmPlaces(cpus []int, pairs []*pairRun, reported map[pair]bool) harmPlace {
	relation := map[pair]Relation{}
	for _, p := range pairs {
		relation[p.pair] = p.relation
	}
	h := harmPlace{Lock: cpus[0], Sibling: -1, Other: -1}
	undecided := 0
	for _, want := range []string{"measured", "reported"} {
		for _, p := range pairs {
			ok := p.relation == Siblings
			if want == "reported" {
				ok = p.relation == UnknownPair && reported[p.pair] && p.gone == ""
			}
			if ok && h.Sibling < 0 {
				h.Lock, h.Sibling = p.A, p.B
				h.Basis[harmSibling] = want
			}
			if p.relation == UnknownPair {
				undecided++
			}
		}
	}
	for _, want := range []string{"measured", "reported"} {
		for _, cpu := range cpus {
			p := pairOf(h.Lock, cpu)
			rel, tried := relation[p]
			ok := rel == Separate
			if want == "reported" { // of those not measured, or undecided
				ok = (!tried || rel == UnknownPair) && !reported[p]
			}
			if cpu != h.Lock && cpu != h.Sibling && ok && h.Other < 0 {
				h.Other, h.Basis[harmOther] = cpu, want
			}
		}
	}
	h.Why[harmSibling] = "untestable here: no two CPUs share a core, by measurement or by report"
	if undecided > 0 {
		h.Why[harmSibling] = "untestable here: no two CPUs are known to share a core, and measurement left some pairs undecided"
	}
	h.Why[harmOther] = "untestable here: no CPU is known to be on another core than the lock's"
	return h
}

// harm measures a lock thread's rate alone and beside scanners.
func (r *siblingsRun) harm(ctx context.Context, deadline time.Time) ([]result.Measurement, error) {
	place := harmPlaces(r.cpus, r.pairs, r.reported)
	scanner := [harmConds]int{-1, -1, place.Sibling, place.Other}
	var conds []int
	for c, cpu := range scanner {
		if c < harmSibling || cpu >= 0 {
			conds = append(conds, c)
		}
	}
	var rounds []*[harmConds]pairSide
	begin, clean, gone := r.now(), 0, ""
	for len(conds) > harmSibling && clean < r.plan.Harm && gone == "" {
		if n := len(rounds); n > 0 {
			limit := deadline
			if n < r.plan.Harm {
				limit = deadline.Add(deadline.Sub(r.begin) / 4)
			}
			if r.now().Add(r.now().Sub(begin) / time.Duration(n)).After(limit) {
				break
			}
		}
		r.rnd.Shuffle(len(conds), func(i, j int) { conds[i], conds[j] = conds[j], conds[i] })
		round, disturbed := &[harmConds]pairSide{}, false
		for _, c := range conds {
			req := pairRequest{Kind: cellLock, CPUs: []int{place.Lock}, Seconds: lockSeconds, Scan: 2 * r.l2(place.Lock)}
			if scanner[c] >= 0 {
				req.CPUs = append(req.CPUs, scanner[c])
			}
			got, err := r.call(ctx, req)
			if err != nil {
				return nil, err
			}
			if gone = got.Gone; gone != "" {
				break
			}
			round[c] = got.Sides[0]
			for _, s := range got.Sides {
				disturbed = disturbed || s.disturbed()
			}
		}
		if gone != "" {
			break
		}
		rounds = append(rounds, round)
		if !disturbed {
			clean++
		}
	}
	disturbed := len(rounds) - clean
	return []result.Measurement{
		r.harmRatio(place, harmSibling, "sibling", rounds, disturbed, gone),
		r.harmRatio(place, harmOther, "other", rounds, disturbed, gone),
	}, nil
}

func (r *siblingsRun) l2(cpu int) int { return workingSet(r.topo, cpu) / 3 * 4 }

// harmRatio compares one condition with the lock alone. All rounds count: the
// rate is per second on the CPU, and repeated rounds only add to them.
func (r *siblingsRun) harmRatio(place harmPlace, cond int, name string, rounds []*[harmConds]pairSide, disturbed int, gone string) result.Measurement {
	m := result.Measurement{
		Probe: "siblings", Name: "siblings.harm." + name, Unit: "ratio", Evidence: result.Measured, NoiseFloor: math.NaN(),
		Labels: map[string]string{"cpu_lock": strconv.Itoa(place.Lock)},
	}
	on := place.Sibling
	m.Title = "acquisitions of a lock per second, with a memory scan on the sibling, against alone"
	if cond == harmOther {
		on = place.Other
		m.Title = "acquisitions of a lock per second, with a memory scan on another core, against alone"
	}
	switch {
	case on < 0:
		m.Reason = place.Why[cond]
		return m
	case gone != "":
		m.Reason = gone
		return m
	case len(rounds) == 0:
		m.Reason = "the time allowed is too short for it"
		return m
	}
	m.Labels["cpu_scan"], m.Labels["relation_by"] = strconv.Itoa(on), place.Basis[cond]
	rate := func(c int) []float64 {
		var out []float64
		for _, round := range rounds {
			out = append(out, float64(round[c].Locked)/round[c].seconds())
		}
		return out
	}
	alone := rate(harmAlone)
	m.Estimate = estimate(stats.PairedRatio(rate(cond), alone, r.alpha))
	m.NoiseFloor = stats.Floor(stats.PairedRatio(rate(harmAgain), alone, r.alpha))
	if disturbed > 0 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("others took more than %.0f %% of a CPU in %d of %d rounds", disturbedShare*100, disturbed, len(rounds)))
	}
	if !m.Estimate.HasInterval() {
		m.Warnings = append(m.Warnings, tooFew(m.Estimate.N, r.alpha))
	}
	return m
}
