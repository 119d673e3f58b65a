package pgbouncer

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/testkit"
)

// asked is a console whose answers are tables, the last of a list again and again. A word of a table is a column.
type asked map[string][]string

func (a asked) Ask(_ context.Context, q explain.Query) (rows []explain.Row, err error) {
	list, ok := a[q.SQL]
	if !ok {
		return nil, errors.New("not allowed")
	}
	if len(list) > 1 {
		a[q.SQL] = list[1:]
	}
	for line := range strings.Lines(list[0]) {
		var row explain.Row
		for _, word := range strings.Fields(line) {
			row = append(row, sql.NullString{String: word, Valid: true})
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (asked) Close() error { return nil }

// crowd are 20 clients before 2 slots, by the columns of 1.18, and of 1.23, which has more of them.
func crowd(stats string) asked {
	return asked{
		"SHOW STATS":     {stats + "\npgbouncer 9 9 9 9 9 9 9", stats + "\npgbouncer 9 9 9 9 9 9 9", stats},
		"SHOW DATABASES": {"name host port database force_user pool_size\nshop - 5432 shop - 2"},
		"SHOW CONFIG":    {"key value default\nconffile /etc/pgbouncer/pgbouncer.ini -"},
		"SHOW POOLS":     {"database user cl_active cl_waiting sv_active\nshop web 20 18 2\npgbouncer pgbouncer 1 0 0"},
		"SHOW SERVERS":   {"type user database remote_pid\nS web shop 4711\nS web shop 4712"},
	}
}

func TestWatch(t *testing.T) {
	for version, stats := range map[string]string{
		"1.18": "database total_xact_count total_wait_time total_xact_time\nshop 100 1000000 2000000",
		"1.23": "database total_server_assignment_count total_xact_count total_wait_time total_xact_time\nshop 100 100 1000000 2000000",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		seen, err := Watch(ctx, crowd(stats), 812)
		if err != nil || len(seen.Pools) != 1 || !seen.Servers[4711] || !seen.Servers[4712] {
			t.Fatalf("%s: %+v, %v", version, seen, err)
		}
		p := seen.Pools[0]
		if p.Slots != 2 || p.Waiting != 18 || p.Working != 2 || p.File == "" {
			t.Errorf("%s: %+v", version, p)
		}
	}
}

// A console that refuses a list is an error, not an empty pool.
func TestRefused(t *testing.T) {
	for _, list := range []string{"STATS", "DATABASES", "CONFIG", "POOLS", "SERVERS"} {
		a := crowd("database total_xact_count total_wait_time total_xact_time\nshop 100 1000000 2000000")
		delete(a, "SHOW "+list)
		testkit.Refused(Watch(t.Context(), a, 812))(t, "", list, "no error")
	}
}

func TestFindings(t *testing.T) {
	waits := Pool{Pooler: 812, Database: "shop", Slots: 2, Waiting: 18, Working: 2, File: "/etc/pgbouncer/pgbouncer.ini",
		Looks: 9}
	idle := Pool{Database: "shop", Slots: 2, Working: 1, Looks: 9}
	keeps, busy := waits, 0.97
	keeps.Mode = "session"
	for name, c := range map[string]struct {
		pool  Pool
		busy  *float64
		share float64 // 0: no finding, below 0: one that explains nothing
		text  string
	}{
		"waits": {waits, nil, 0.9,
			"clients of pgbouncer (PID 812) wait 90 % of their time for one of the 2 slots of pool_size in database shop"},
		"idle":   {idle, nil, 0, ""},
		"keeps":  {keeps, nil, 0.9, "a client keeps its slot until it leaves (pool_mode = session)"},
		"no CPU": {waits, &busy, -1, "the CPUs are 97 % busy"},
	} {
		list := Findings([]Pool{c.pool}, c.busy)
		if c.share == 0 {
			testkit.Is(t, 0, len(list), name, list)
			continue
		}
		if len(list) != 1 || !strings.Contains(list[0].Says(), c.text) ||
			!strings.Contains(list[0].Step, "/etc/pgbouncer/pgbouncer.ini") ||
			(list[0].Explains == nil) != (c.share < 0) || c.share > 0 && *list[0].Explains != c.share {
			t.Errorf("%s: %+v", name, list)
		}
	}
}
