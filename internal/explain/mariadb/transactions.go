package mariadb

import (
	"fmt"
	"strings"

	"hostlab/internal/explain"
)

// tables are the commands that make a transaction of their own where none is open.
var tables = []string{"com_select", "qcache_hits", "com_insert", "com_insert_select", "com_update", "com_update_multi", "com_delete", "com_delete_multi", "com_replace", "com_replace_select", "com_load"}

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
	if !g.Has("com_commit") {
		return
	}
	// ROLLBACK without a transaction, as pools send it, rolls nothing back.
	opened := g.Get("com_commit") + min(g.Get("com_rollback"), g.Get("handler_rollback"))
	var writes float64
	for _, name := range tables[2:] {
		writes += g.Get(name)
	}
	reads := max(0, g.Get("com_select")+g.Get("qcache_hits")-g.Get("own"))
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
	default:
		a.Missing = append(a.Missing, fmt.Sprintf("how many transactions there were: from %.0f to %.0f, as the server counts statements and COMMIT, and not all statements were seen in transactions that had been opened; "+
			"with performance_schema=ON its instrument 'transaction' counts them", low, high))
	}
	a.TransactionsLow, a.TransactionsHigh = int64(low), int64(high)
}

// allOpened reports whether all statements that were seen ran within transactions that
// had been opened. The first SELECT of one enters it while it runs, so that of m only
// m - 1 are sure to be seen there.
func (m *modes) allOpened(opened, wrote, reads float64) bool {
	if m.alone > 0 || wrote > nearly*opened && reads > nearly*opened && m.wrote == 0 {
		return false
	}
	each := reads / opened
	return reads <= nearly*opened || m.selects >= least && float64(m.inside) >= 0.85*max(0.3, (each-1)/each)*float64(m.selects)
}
