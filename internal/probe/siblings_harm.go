package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/thread"
	"hostlab/internal/workload/scanlock"
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
	h.Why[harmSibling] = "no two CPUs share a core, by measurement or by report"
	if undecided > 0 {
		h.Why[harmSibling] = "no two CPUs are known to share a core, and measurement left some pairs undecided"
	}
	h.Why[harmOther] = "no CPU is known to be on another core than the lock's"
	return h
}

// harm measures a lock thread's rate alone and beside scanners.
func (r *siblingsRun) harm(ctx context.Context, budget time.Duration) ([]result.Measurement, error) {
	place := harmPlaces(r.cpus, r.pairs, r.reported)
	scanner := [harmConds]int{-1, -1, place.Sibling, place.Other}
	var conds []int
	for c, cpu := range scanner {
		if c < harmSibling || cpu >= 0 {
			conds = append(conds, c)
		}
	}
	h := harmed{place: place, alpha: r.alpha}
	if r.rest(1, 0) > 0 {
		h.gone = "a scan takes whole CPUs, which others use here"
	}
	pace := pace{now: r.now, began: r.begin, budget: budget, planned: r.plan.Harm, over: budget / 4}
	err := pace.run(func() (clean bool, err error) {
		if pace.planned == 0 || h.gone != "" || len(conds) == harmSibling {
			return false, errEnough
		}
		r.rnd.Shuffle(len(conds), func(i, j int) { conds[i], conds[j] = conds[j], conds[i] })
		var round harmRound
		for _, c := range conds {
			req := pairRequest{Kind: cellLock, CPUs: []int{place.Lock}, Seconds: lockSeconds, Scan: 2 * r.l2(place.Lock)}
			if scanner[c] >= 0 {
				req.CPUs = append(req.CPUs, scanner[c])
			}
			got, err := r.call(ctx, req)
			if errors.Is(err, thread.ErrNoCPU) {
				h.gone = err.Error()
				return false, errEnough
			}
			if err != nil {
				return false, err
			}
			round.did[c], round.seconds[c] = got.Locks, got.Seconds
			for _, n := range got.Locks {
				off := got.Seconds - n.CPUTime.Seconds()
				round.disturbed = round.disturbed || n.HasCPU && off > disturbedShare*got.Seconds
			}
		}
		h.rounds = append(h.rounds, round)
		return !round.disturbed, nil
	})
	if err != nil {
		return nil, err
	}
	h.all = len(h.rounds)
	h.rounds, h.clean = undisturbed(h.rounds, func(r harmRound) bool { return !r.disturbed }, r.alpha)
	return []result.Measurement{
		h.ratio(HarmSibling, harmSibling), h.ratio(HarmOther, harmOther), h.locks(LocksAlone, harmAlone),
		h.locks(LocksSibling, harmSibling), h.locks(LocksOther, harmOther), h.scans(ScansSibling, harmSibling),
		h.scans(ScansOther, harmOther),
	}, nil
}

// harmRound is one cell of each condition: the lock's side, the scanner's side.
type harmRound struct {
	did       [harmConds][]scanlock.Count
	seconds   [harmConds]float64
	disturbed bool
}

func (r *siblingsRun) l2(cpu int) int { return workingSet(r.topo, cpu) / 3 * 4 }

// harmed is what the rounds gave. Those that others disturbed count only where too
// few are left without them.
type harmed struct {
	place      harmPlace
	rounds     []harmRound
	all, clean int
	gone       string
	alpha      float64
}

var harmWhere = [harmConds]string{harmSibling: "on the sibling", harmOther: "on another core"}

// measurement is what all of them have in common; it says why it is unknown.
func (h harmed) measurement(kind result.Kind, title, unit string, cond int) (m result.Measurement, known bool) {
	m = blank(kind, "", title, unit, result.Labels{CPULock: new(h.place.Lock)})
	on := h.place.Lock
	switch cond {
	case harmSibling:
		on = h.place.Sibling
	case harmOther:
		on = h.place.Other
	}
	switch {
	case on < 0:
		m.Reason = h.place.Why[cond]
	case h.gone != "":
		m.Reason = h.gone
	case len(h.rounds) == 0 && h.place.Sibling < 0 && h.place.Other < 0:
		m.Reason = "not tried: there is nowhere to put a scan"
	case len(h.rounds) == 0:
		m.Reason = "the time allowed is too short for it"
	}
	if m.Reason != "" {
		return m, false
	}
	if cond == harmSibling || cond == harmOther {
		m.Labels.CPUScan, m.Labels.RelationBy = new(on), h.place.Basis[cond]
	}
	left := h.all - h.clean
	text := fmt.Sprintf("others took more than %.0f %% of a CPU in %d of %d rounds", disturbedShare*100, left, h.all)
	switch {
	case left > 0 && len(h.rounds) == h.all:
		m.Labels.Disturbed = text
		m.Warnings = append(m.Warnings, text+"; too few are left without them, so all count")
	case left > 0:
		m.Warnings = append(m.Warnings, text+", which are left out")
	}
	return m, true
}

// rates are per second on the CPU, of each round.
func (h harmed) rates(cond, side int) []float64 {
	return column(h.rounds, func(round harmRound) float64 {
		c, seconds := round.did[cond][side], round.seconds[cond]
		if c.HasCPU && c.CPUTime > 0 {
			seconds = c.CPUTime.Seconds()
		}
		return float64(c.Acquisitions+c.Rounds) / seconds // a thread does one of the two
	})
}

// ratio compares one condition with the lock alone.
func (h harmed) ratio(kind result.Kind, cond int) result.Measurement {
	m, known := h.measurement(kind, "acquisitions of a lock per second, with a memory scan "+harmWhere[cond]+
		", against alone",
		"ratio", cond)
	if !known {
		return m
	}
	alone := h.rates(harmAlone, 0)
	m.Estimate, m.NoiseFloor = ratio(h.rates(cond, 0), alone, h.alpha), floor(h.rates(harmAgain, 0), alone, h.alpha)
	if !m.Estimate.HasInterval() {
		m.Warnings = append(m.Warnings, tooFew(m.Estimate.N, h.alpha))
	}
	return m
}

// What the lock's side loses is to be weighed against what the scan's side gets done.
func (h harmed) locks(kind result.Kind, cond int) result.Measurement {
	beside := "with nothing beside it"
	if cond != harmAlone {
		beside = "with a memory scan " + harmWhere[cond]
	}
	return h.rate(kind, "acquisitions of a lock per second, "+beside, cond, 0)
}

func (h harmed) scans(kind result.Kind, cond int) result.Measurement {
	return h.rate(kind, "scans of twice the L2 cache per second, "+harmWhere[cond]+", while the lock is taken", cond, 1)
}

func (h harmed) rate(kind result.Kind, title string, cond, side int) result.Measurement {
	m, known := h.measurement(kind, title, "1/s", cond)
	if known {
		m.Estimate = medianOf(h.rates(cond, side), h.alpha)
	}
	return m
}
