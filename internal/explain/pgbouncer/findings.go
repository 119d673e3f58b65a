package pgbouncer

import (
	"cmp"
	"fmt"
	"math"

	"hostlab/internal/explain"
	"hostlab/internal/result"
)

// crowded is the share of the CPUs' time in use from which more slots may only move the wait to the CPUs.
const crowded = 0.9

// Findings are the pools whose clients wait for a slot. busy is the share of the host's CPU time in use; nil: not
// known.
func Findings(pools []Pool, busy *float64) (out []explain.Finding) {
	for _, p := range pools {
		if f := p.finding(busy); f.Matters() {
			out = append(out, f)
		}
	}
	return out
}

// waits is the share of its clients' time in which they wait for a slot, and at most (binomial, of as many looks as
// there were).
func (p *Pool) waits() (share, most float64) {
	share = p.Waiting / max(p.Waiting+p.Working, 1)
	return share, min(1, share+2*math.Sqrt(share*(1-share)/float64(max(1, p.Looks)))+1/float64(max(1, p.Looks)))
}

func (p *Pool) finding(busy *float64) explain.Finding {
	share, most := p.waits()
	f := explain.Finding{Parameter: "pool_size", Part: explain.Application, Number: p.Waiting, Unit: "clients",
		N: p.Transactions, AtMost: &most}
	slots := "a slot"
	if p.Slots > 0 {
		f.Value, slots = fmt.Sprint(p.Slots), fmt.Sprintf("one of the %d slots", p.Slots)
		if p.Slots == 1 {
			slots = "its only slot"
		}
	}
	f.Text = fmt.Sprintf("clients of pgbouncer (PID %d) wait %s of their time for %s of pool_size in database %s",
		p.Pooler, result.Share(share), slots, p.Database)
	f.More = []string{fmt.Sprintf("waiting on average: %s, slots in use: %s", explain.Plain(p.Waiting), explain.Plain(p.Working))}
	f.Step = fmt.Sprintf("set pool_size higher for %s in %s, and reload pgbouncer", p.Database,
		cmp.Or(p.File, "pgbouncer.ini"))
	if p.Mode == "session" {
		f.More = append(f.More, "a client keeps its slot until it leaves (pool_mode = session)")
		f.Step = "if no client needs its session's state, set pool_mode = transaction for it; else " + f.Step
	}
	if busy != nil && *busy >= crowded {
		f.Plain = share >= explain.FindingFrom
		f.More = append(f.More, fmt.Sprintf("the CPUs are %s busy, so that more slots may only move the wait", result.Share(*busy)))
		return f
	}
	f.Explains = &share
	return f
}
