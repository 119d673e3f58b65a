package mariadb

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"hostlab/internal/explain"
)

// TestFindings: each counter names its setting with a number and a step, and our own questions do not count.
func TestFindings(t *testing.T) {
	report := func(grown map[string]int64, parts ...explain.Part) *explain.Report {
		return &explain.Report{Vendor: "MariaDB", Busy: 100, Elapsed: 100, Transactions: 1000, Parts: parts,
			Totals: &explain.Totals{Seconds: 60, Grown: grown,
				Settings: map[string]string{"innodb_buffer_pool_size": "134217728", "innodb_log_buffer_size": "16777216",
					"tmp_table_size": "16777216", "thread_cache_size": "0", "table_open_cache": "100", "general_log": "ON"}}}
	}
	cached := report(map[string]int64{"innodb_buffer_pool_reads": 60_000, "innodb_buffer_pool_read_requests": 600_000})
	cached.Copies = &explain.Copies{Count: 60_000}
	login := report(map[string]int64{"connections": 300})
	login.Totals.Settings[explain.Login] = "0.04"
	paused := report(nil, explain.Part{Name: explain.Locks, Seconds: 80})
	paused.Blockers = []explain.Blocker{{Part: explain.Application, PID: 7, Held: 1}}
	paused.Blockers[0].Share.Value, paused.Blockers[0].Share.N = 0.5, 50
	turns := report(nil)
	turns.Queue, turns.Totals.Settings["thread_pool_size"] = &explain.Queue{Waiting: 12, Working: 3, Looks: 60}, "1"
	small := func(grown map[string]int64) *explain.Report {
		r := report(grown)
		r.Totals.Settings["innodb_log_file_size"] = "4194304"
		return r
	}
	for name, c := range map[string]struct {
		report *explain.Report
		want   string // "": nothing is said
	}{
		"a pool of threads": {turns,
			"thread_pool_size: requests that wait for a thread, on average: 12; threads: 3; the pool of threads has thread_pool_size 1"},
		"connections": {report(map[string]int64{"connections": 1200, "threads_created": 1200}),
			"pool of connections: clients connect 20 times a second, for 0.83 transactions each; 1200 new threads, as thread_cache_size is 0"},
		"a slow login": {login,
			"clients connect 5 times a second, for 3.3 transactions each; hostlab's own login took 40.0 ms"},
		"few connections":  {report(map[string]int64{"connections": 60}), ""},
		"kept connections": {report(map[string]int64{"connections": 400, "threads_created": 400}), ""},
		"a small pool": {report(map[string]int64{"innodb_buffer_pool_reads": 60_000,
			"innodb_buffer_pool_read_requests": 600_000}, explain.Part{Name: explain.DataReads, Seconds: 40}),
			"innodb_buffer_pool_size: 10 % of the pages that were wanted were not in innodb_buffer_pool_size (128 MiB): 1000 a second; set global innodb_buffer_pool_size = 536870912"},
		"a small pool in the page cache": {cached, "the page cache held them"},
		"reads that take no time": {report(map[string]int64{"innodb_buffer_pool_reads": 600,
			"innodb_buffer_pool_read_requests": 600_000}), ""},
		"a full log buffer": {report(map[string]int64{"innodb_log_waits": 120}),
			"innodb_log_buffer_size: sessions waited for the log 120 times, 2 a second, as innodb_log_buffer_size (16 MiB) was full"},
		"a small log": {small(map[string]int64{"innodb_os_log_written": 60 * 8 << 20}),
			"innodb_log_file_size: the log fills innodb_log_file_size (4 MiB) in 500 ms, and each time changed pages have to be written; " +
				"set global innodb_log_file_size = 268435456; before"},
		"a log that lasts": {small(map[string]int64{"innodb_os_log_written": 60 << 10}), ""},
		"one wait":         {report(map[string]int64{"innodb_log_waits": 1}), ""},
		"no free page": {report(map[string]int64{"innodb_buffer_pool_wait_free": 600}),
			"innodb_buffer_pool_size: sessions waited for a free page 600 times"},
		"tables on disk": {report(map[string]int64{"created_tmp_disk_tables": 300,
			"created_tmp_tables": 400}), "tmp_table_size: 300 of 400 temporary tables went to disk"},
		"our own tables": {report(map[string]int64{"created_tmp_disk_tables": 300, "created_tmp_tables": 400,
			"own_created_tmp_disk_tables": 300, "own_created_tmp_tables": 300}), ""},
		"tables that are opened anew": {report(map[string]int64{"opened_tables": 6000, "questions": 9000}),
			"table_open_cache: 100 tables a second are opened anew, as table_open_cache keeps 100; set global table_open_cache = 2000"},
		"a log of all statements": {report(map[string]int64{"questions": 1_200_000}),
			"general_log: with general_log = ON each statement takes longer, 20000 statements a second; set global general_log = OFF"},
		"a pause": {paused,
			"idle_transaction_timeout: sessions wait 40 % of active time for locks of session 7"},
		"nothing was said": {&explain.Report{Busy: 1}, ""},
	} {
		var all []string
		for _, f := range Findings(c.report) {
			all = append(all, f.Parameter+": "+f.Says()+"; "+f.Step)
			for _, clause := range f.Clauses() {
				if n := len(strings.Fields(clause)); n > 21 { // with what comes before it, a sentence has 25
					t.Errorf("%s: %d words in %q", name, n, clause)
				}
			}
			if f.Number <= 0 || f.Unit == "" || f.Part == "" || f.Step == "" {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if got := strings.Join(all, "\n"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) || len(all) > 1 {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestUnflushed: where a commit waits for no device, a state's name makes no wait for the log; one for a replica is
// none either.
func TestUnflushed(t *testing.T) {
	flushed, lazy := &Source{maria: true}, &Source{maria: true, lazy: "innodb_flush_log_at_trx_commit = 2"}
	for _, state := range []string{"Commit", "Updating status", "waiting for handler commit"} {
		if part, _, _ := flushed.classify("Query", state); part != explain.LogWait {
			t.Errorf("%s: %s", state, part)
		}
		if part, event, _ := lazy.classify("Query", state); part != explain.OtherWaits || event != unflushed {
			t.Errorf("%s without a flush: %s, %s", state, part, event)
		}
	}
	if part, _, _ := flushed.classify("Query", "Waiting for semi-sync ACK from slave"); part != explain.OtherWaits {
		t.Errorf("a replica's answer is %s", part)
	}
	batch := explain.Batch{Wall: 10, Snapshots: 20,
		Seconds: map[explain.Key]float64{{Part: explain.OtherWaits, Event: unflushed}: 5,
			{Part: explain.DatabaseCPU, Event: explain.Executing}: 5}}
	for waits, high := range map[int64]float64{0: 0, 10: 0.05} {
		_, parts, _, _ := explain.Decompose([]explain.Batch{batch}, lazy.Account(explain.Growth{Seconds: 10,
			Values: map[string]int64{"innodb_log_writes": 1000, "innodb_log_waits": waits}}))
		p := (&explain.Report{Parts: parts}).Part(explain.LogWait)
		if p.Seconds != 0 || p.Share.High != high || !strings.HasPrefix(p.Source, lazy.lazy) {
			t.Errorf("%d waits for the log's buffer: %+v", waits, p)
		}
	}
}

// TestBlocks: pairs of waiters and holders, as both servers list them, become chains. A holder that sleeps is within a
// transaction.
func TestBlocks(t *testing.T) {
	row := func(cells ...string) (r explain.Row) {
		for _, c := range cells {
			r = append(r, struct {
				String string
				Valid  bool
			}{c, true})
		}
		return r
	}
	got, waiters := blocks([]explain.Row{
		row("5", "4", "`shop`.`stock`", "Sleep", "", "app", "10.0.0.7:4711"),
		row("6", "4", "`shop`.`stock`", "Sleep", "", "app", "10.0.0.7:4711"),
		row("6", "5", "`shop`.`stock`", "Query", "Updating", "app", "localhost")})
	if len(got) != 2 || len(waiters) != 2 {
		t.Fatalf("%+v", got)
	}
	for _, b := range got {
		if b.Relation != "shop.stock" || b.Holder.PID != 4 || b.Holder.Part != explain.Application ||
			b.Holder.User != "app" || b.Holder.Client != "10.0.0.7:4711" {
			t.Errorf("%+v", b)
		}
	}
}

// asked answers each question by its name.
type asked struct {
	rows map[string][]explain.Row
	sql  map[string]string
}

func (a *asked) Ask(_ context.Context, q explain.Query) ([]explain.Row, error) {
	a.sql[q.Name] = q.SQL
	return a.rows[q.Name], nil
}

func (a *asked) Close() error { return nil }

// TestMySQL: MySQL 8 has locks and totals in its performance schema, and a digest of each statement. No live server has
// confirmed that.
func TestMySQL(t *testing.T) {
	row := func(cells ...string) (r explain.Row) {
		for _, c := range cells {
			r = append(r, struct {
				String string
				Valid  bool
			}{c, true})
		}
		return r
	}
	a := &asked{sql: map[string]string{}, rows: map[string][]explain.Row{
		"blocked": {row("5", "4", "shop.stock", "Sleep", "", "app", "localhost")},
		"running": {row("5", "Query", "updating", "d1g35t", "update stock set n = 1"),
			row("6", "Query", "executing", "0th3r", "select 1"), row("9", "Daemon", "", "", "")},
		"tell": {row("counter", "innodb_data_read", "16384"), row("setting", "tmp_table_size", "16777216")}}}
	s := &Source{Asked: explain.Asked{Asker: a}, processes: processThreads, waiting: 1}
	n, err := s.Name(t.Context(), false)
	if err != nil || len(n.Doing) != 2 || n.Doing[0].Part != explain.Locks || n.Doing[0].ID != "d1g35t" ||
		n.Doing[0].Kind != explain.Digest ||
		n.Doing[1].Part != explain.DatabaseCPU || n.Doing[0].Text != "" {
		t.Errorf("%+v, %v", n, err)
	}
	if len(n.Blocks) != 1 || n.Blocks[0].Relation != "shop.stock" || n.Blocks[0].Holder.Event != inTransaction {
		t.Errorf("%+v", n.Blocks)
	}
	totals, err := s.Tell(t.Context())
	if err != nil || totals.Values["read_bytes"] != 16384 || totals.Settings["tmp_table_size"] == "" {
		t.Errorf("%+v, %v", totals, err)
	}
	for name, want := range map[string]string{"blocked": "performance_schema.data_lock_waits",
		"running": "events_statements_current", "tell": "performance_schema.global_status"} {
		if !strings.Contains(a.sql[name], want) || strings.Contains(a.sql[name], "information_schema") {
			t.Errorf("%s: %s", name, a.sql[name])
		}
	}
}

// TestOnlyOther: of the lock of a table the server tells no holder; it is the session that waits for no lock, if there
// is but one.
func TestOnlyOther(t *testing.T) {
	row := func(cells ...string) (r explain.Row) {
		for _, c := range cells {
			r = append(r, sql.NullString{String: c, Valid: true})
		}
		return r
	}
	waits := row("5", "Query", "Waiting for table metadata lock", "", "update t", "app", "localhost")
	holds, other := row("6", "Query", "User sleep", "", "do sleep(1)", "admin", "localhost"),
		row("7", "Query", "Sending data", "", "select 1", "app", "localhost")
	for name, c := range map[string]struct {
		rows     []explain.Row
		sleepers string
		blocks   int
	}{"one": {[]explain.Row{waits, waits, holds}, "0", 2}, "one that sleeps": {[]explain.Row{waits, waits, holds}, "1", 0},
		"two":  {[]explain.Row{waits, holds, other}, "0", 0},
		"none": {[]explain.Row{waits}, "0", 0}, "no lock": {[]explain.Row{holds}, "0", 0}} {
		a := &asked{sql: map[string]string{}, rows: map[string][]explain.Row{"running": c.rows, "queued": {row("12", "4")},
			"sleepers": {row(c.sleepers)}}}
		s := &Source{Asked: explain.Asked{Asker: a}, maria: true, pool: true}
		n, err := s.Name(t.Context(), false)
		if err != nil || len(n.Blocks) != c.blocks || n.Queue == nil || n.Queue.Waiting != 12 || n.Queue.Working != 3 {
			t.Errorf("%s: %+v, %v", name, n, err)
		}
		for _, b := range n.Blocks {
			if b.Holder.PID != 6 || b.Holder.User != "admin" || b.Holder.Event != "User sleep" ||
				b.Holder.Part != explain.OtherWaits {
				t.Errorf("%s: %+v", name, b)
			}
		}
	}
}
