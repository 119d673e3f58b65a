package mariadb

import (
	"fmt"
	"math"
	"strings"

	"hostlab/internal/explain"
)

// tables are the commands that make a transaction of their own where none is open.
var tables = []string{"com_select", "qcache_hits", "com_insert", "com_insert_select", "com_update", "com_update_multi",
	"com_delete", "com_delete_multi", "com_replace", "com_replace_select", "com_load"}

var statements = "'" + strings.Join(tables, "', '") + "'"

// modes are what was seen of transactions at the looks at who is within one.
type modes struct {
	selects       int // SELECTs that ran
	inside, alone int // those of them within a transaction that had been opened, and those that were all of one
	wrote         int // sessions between statements of one that had written
}

// least is how many sightings say something, and nearly the share that does not matter.
const least, nearly = 10, 0.02

// transactions says how many there were. The server counts statements and commands, not
// transactions: Handler_commit grows with each statement, once for each engine and the
// binary log. Where all sessions open theirs, it is COMMIT and ROLLBACK that count, and
// where none does, statements. Where some do, their number lies in between.
func (s *Source) transactions(g explain.Growth, a *explain.Account) {
	if g.Has("counted") {
		a.Transactions = max(0, int64(g.Get("counted")-g.Get("own")))
		return
	}
	if s.metrics.SQL != "" {
		a.Transactions = int64(g.Get("metrics"))
		return
	}
	if !g.Has("com_commit") {
		return
	}
	opened := commits(g)
	var writes float64
	for _, name := range tables[2:] {
		writes += g.Get(name)
	}
	reads := max(0, ran(g, "com_select"))
	if opened == 0 {
		a.Transactions = int64(reads + writes)
		return
	}
	// Each that writes takes two numbers of InnoDB's, one of them at its commit.
	wrote := writes
	if g.Has("innodb_max_trx_id") {
		wrote = min(writes, g.Get("innodb_max_trx_id")/2)
	}
	low, high := max(opened, wrote), opened+wrote+reads
	switch {
	case high-low <= nearly*low:
		a.Transactions = int64(low)
		return
	case s.seen.allOpened(opened, wrote, reads):
		a.Transactions = int64(low)
	case s.seen.alone == 0 && s.rise(g, wrote):
		a.Transactions = int64(opened)
		a.Missing = append(a.Missing, "a count of transactions: taken from commits, as statements rose and fell with them; "+
			enable)
	default:
		a.Missing = append(a.Missing,
			fmt.Sprintf("how many transactions there were: from %.0f to %.0f, as the server counts "+
				"statements and COMMIT, and not all statements were seen in transactions that had been opened; %s", low, high,
				enable))
	}
	a.TransactionsLow, a.TransactionsHigh = int64(low), int64(high)
}

// enable is what makes InnoDB count transactions (module_trx of its metrics).
const enable = "to count them, an administrator can set global innodb_monitor_enable='trx_%commits', without a restart"

// commits are the ends of transactions that were opened. ROLLBACK without one, as pools
// send it, rolls nothing back.
func commits(g explain.Growth) float64 {
	return g.Get("com_commit") + min(g.Get("com_rollback"), g.Get("handler_rollback"))
}

// ran is how many statements of a kind clients ran.
func ran(g explain.Growth, name string) float64 {
	if name == "com_select" { // those that the query cache answers are not among them
		return g.Get(name) + g.Get("qcache_hits") - g.Get("own")
	}
	return g.Get(name)
}

// stretches is how many readings apart statements have to go with commits.
const stretches = 8

// rise reports whether statements rose and fell with commits. Where each transaction is
// opened by BEGIN and runs the same statements, those of each kind are a whole multiple of
// commits, at every reading: they are ahead only by those of transactions that are open
// then. What runs outside goes its own way, and the difference grows with the time. Without
// autocommit nothing is opened by BEGIN; there each has to write, and commits that end
// nothing show as fewer than wrote.
func (s *Source) rise(g explain.Growth, wrote float64) bool {
	opened := commits(g)
	if len(s.counts) <= stretches || opened < least*stretches {
		return false
	}
	// Nobody is in more than one transaction, and what could hide must not matter.
	edge := func(each float64) float64 { return max(2, min(each*float64(s.sessions), nearly*opened)) }
	if math.Abs(g.Get("com_begin")-opened) > edge(1) && (g.Get("com_begin") > 0 || math.Abs(wrote-opened) > edge(1)) {
		return false
	}
	kinds := map[string]float64{}
	for _, name := range append([]string{"com_select"}, tables[2:]...) {
		kinds[name] = math.Round(ran(g, name) / opened)
	}
	first := s.counts[0]
	for _, now := range s.counts[1:] {
		d := explain.Growth{Values: map[string]int64{}}
		for name, v := range now {
			d.Values[name] = v - first[name]
		}
		for name, each := range kinds {
			if math.Abs(ran(d, name)-each*commits(d)) > edge(each) {
				return false
			}
		}
	}
	return true
}

// allOpened reports whether all statements that were seen ran within transactions that
// had been opened. The first SELECT of one enters it while it runs, so that of m only
// m - 1 are sure to be seen there.
func (m *modes) allOpened(opened, wrote, reads float64) bool {
	if m.alone > 0 || wrote > nearly*opened && reads > nearly*opened && m.wrote == 0 {
		return false
	}
	each := reads / opened
	return reads <= nearly*opened || m.selects >= least && float64(m.inside) >= 0.85*max(0.3,
		(each-1)/each)*float64(m.selects)
}
