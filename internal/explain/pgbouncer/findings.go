package pgbouncer

import (
	"cmp"
	"fmt"

	"hostlab/internal/explain"
	"hostlab/internal/result"
)

// crowded is the share of the CPUs' time in use from which more slots may only move the wait to the CPUs.
const crowded = 0.9

// Findings are the pools whose clients wait for a slot. busy is the share of the host's CPU time in use; nil: not known.
func Findings(pools []Pool, busy *float64) (out []explain.Finding) {
	for _, p := range pools {
		if f := p.finding(busy); f.Matters() {
			out = append(out, f)
		}
	}
	return out
}

// waits is the share of its clients' time in which they wait for a slot: by the sums of the database, or else by looks, as of clients that
// wait for longer than the time of watching.
func (p *Pool) waits() float64 {
	share := func(waits, works float64) float64 {
		if waits <= 0 {
			return 0
		}
		return waits / (waits + works)
	}
	return max(share(p.Waited, p.Worked), share(p.Waiting, p.Working))
}

func (p *Pool) finding(busy *float64) explain.Finding {
	share := p.waits()
	f := explain.Finding{Parameter: "pool_size", Part: explain.Application, Number: p.Waiting, Unit: "clients", N: p.Transactions, AtMost: &share}
	slots := "a slot"
	if p.Slots > 0 {
		f.Value, slots = fmt.Sprint(p.Slots), fmt.Sprintf("one of the %d slots", p.Slots)
		if p.Slots == 1 {
			slots = "its only slot"
		}
	}
	f.Text = fmt.Sprintf("clients of pgbouncer (PID %d) wait %s of their time for %s of pool_size in database %s; %s wait on average, and %s slots are in use",
		p.Pooler, result.Share(share), slots, p.Database, explain.Plain(p.Waiting), explain.Plain(p.Working))
	f.Step = fmt.Sprintf("set pool_size higher for %s in %s, and reload pgbouncer", p.Database, cmp.Or(p.File, "pgbouncer.ini"))
	if busy != nil && *busy >= crowded {
		f.Plain = share >= explain.FindingFrom
		f.Text += fmt.Sprintf("; the CPUs are %s busy, so that more slots may only move the wait", result.Share(*busy))
		return f
	}
	f.Explains = &share
	return f
}
