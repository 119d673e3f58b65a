package mariadb

import (
	"strings"
	"testing"

	"hostlab/internal/explain"
)

// Commits are taken for transactions where statements go with them, and each is opened by
// BEGIN or writes. A COMMIT behind statements that have committed themselves ends nothing.
func TestTransactionsFromCommits(t *testing.T) {
	for name, c := range map[string]struct {
		each  map[string]int64 // what each commit adds
		shots int
		want  int64 // below 0: a range from so many
	}{
		"opened by BEGIN": {map[string]int64{"com_begin": 1, "com_select": 2, "com_update": 1,
			"innodb_max_trx_id": 2}, 10, 1000},
		"without autocommit": {map[string]int64{"com_select": 2, "com_update": 2, "innodb_max_trx_id": 2},
			10, 1000},
		"COMMIT that ends nothing": {map[string]int64{"com_select": 2, "com_update": 2, "innodb_max_trx_id": 4},
			10, -2000},
		"without autocommit, reads alone": {map[string]int64{"com_select": 2}, 10, -1000},
		"opened by BEGIN, in a short time": {map[string]int64{"com_begin": 1, "com_select": 2, "com_update": 1,
			"innodb_max_trx_id": 2}, 4, -1000},
		"opened by BEGIN, and nothing else": {map[string]int64{"com_begin": 1}, 10, 1000},
	} {
		s := &Source{sessions: 4}
		const all = 1000
		c.each["com_commit"] = 1
		for i := range c.shots {
			at := map[string]int64{"own": 0}
			for k, v := range c.each {
				at[k] = v * all * int64(i) / int64(c.shots-1)
			}
			s.counts = append(s.counts, at)
		}
		a := explain.Account{Transactions: -1}
		s.transactions(explain.Growth{Values: s.counts[c.shots-1]}, &a)
		why := strings.Join(a.Missing, "")
		if c.want >= 0 && a.Transactions == c.want {
			continue
		}
		if a.Transactions != -1 || a.TransactionsLow != -c.want || a.TransactionsHigh <= -c.want ||
			!strings.Contains(why, "not all statements were seen in transactions") {
			t.Errorf("%s: %d, from %d to %d, expected %d: %s", name, a.Transactions, a.TransactionsLow, a.TransactionsHigh,
				c.want, why)
		}
	}
}
