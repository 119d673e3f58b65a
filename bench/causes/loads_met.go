//go:build linux

package main

import (
	"fmt"
	"strings"
)

// Scripts of clients that talk much, and of such that lock rows in different orders.
var (
	talks     = "begin\n" + strings.Repeat("select 1\n\\sleep 2 ms\n", 6) + "end"
	crossways = `\set first random(1, 2)` + "\nbegin\nupdate pgbench_branches set bbalance = 1 where bid = :first\n\\sleep 1 ms\n" +
		"update pgbench_branches set bbalance = 1 where bid = 3 - :first\nend"
)

// numbered are so many lines.
func numbered(line string, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(line, i+1))
	}
	return strings.Join(all, "\n")
}

// ofMet are causes that were met where hostlab did not know them.
var ofMet = []load{
	{Name: "pg talkative clients", Kind: "postgres", Always: setup{Clients: 4}, With: setup{Script: talks},
		Without: setup{Script: strings.ReplaceAll(talks, "\\sleep 2 ms\n", "")}, First: []string{"pauses within transactions"}, Named: []string{"fewer statements|round trips"}},
	{Name: "pg deadlocks", Kind: "postgres", Always: setup{Clients: 4}, With: setup{Script: crossways},
		Without: setup{Script: strings.NewReplacer("random(1, 2)", "1").Replace(crossways)}, First: []string{"deadlock_timeout"}, Named: []string{"deadlocks", "pgbench_branches"}},
	{Name: "pg vacuum that sleeps", Kind: "postgres", Always: setup{Clients: 1, Script: "vacuum (freeze, disable_page_skipping) pgbench_accounts"},
		With: setup{Settings: "vacuum_cost_delay=10ms"}, First: []string{"vacuum_cost_delay"}, Named: []string{"vacuum_cost_delay"}},
	{Name: "pg copies to a program", Kind: "postgres", Always: setup{Clients: 2}, With: setup{Script: "copy (select 1) to program 'cat > /dev/null; sleep 0.02'"},
		Without: setup{Script: "copy (select 1) to program 'cat > /dev/null'"}, First: []string{"waits without an event"}, Named: []string{"a program that it started"}},
	{Name: "nginx and few threads behind a socket file", Kind: "nginx", Always: setup{Clients: 8, Script: "/sleep/5"}, With: setup{Settings: "behind=unix upstream=anew workers=1"},
		Without: setup{Settings: "behind=unix upstream=anew"}, First: []string{"~web.sock"}, Named: []string{`python3.*PID`, `web\.sock`}},
	{Name: "python and late confirmations", Kind: "python", Always: setup{Clients: 4}, With: setup{Script: "/nagle"}, Without: setup{Script: "/sleep/0"},
		First: []string{"TCP_NODELAY"}, Named: []string{"TCP_NODELAY"}},
	{Name: "process and a scanner of files", Kind: "process", Always: setup{Script: "opens $DIR/file"},
		With: setup{Beside: []string{"/usr/bin/python3 $BIN/job.py guard file 0.01"}}, First: []string{"calls on files"}, Named: []string{"fanotify", "{beside}"}},
	{Name: "process of cold mapped pages", Kind: "process", Always: setup{Script: "memory $DIR/data 100", Disk: true}, With: setup{Cold: true, IOPS: 300}, Without: setup{},
		First: limited, Named: []string{"300 reads"}},
	{Name: "process and a semaphore", Kind: "process", Always: setup{Script: "semaphore 4711"},
		With: setup{Beside: []string{"/usr/bin/python3 $BIN/job.py semaphore 4711 0.02"}}, Part: "lock", First: []string{"holder of a lock"}, Named: []string{"{beside}"}},
	{Name: "process and a lock that many take in turn", Kind: "process", Always: setup{Script: "lock $DIR/lock"},
		With: setup{Beside: []string{"sh -c 'while :; do flock lock sleep 0.2; sleep 0.02; done'"}}, Part: "lock", First: []string{"lock of a file"}, Named: []string{"flock", "{beside}"}},
	{Name: "pg explains each statement", Kind: "postgres", Always: setup{Clients: 2, Script: "select count(*) from pgbench_accounts where aid < 20000"},
		With:  setup{Settings: "session_preload_libraries=auto_explain auto_explain.log_min_duration=0 auto_explain.log_analyze=on"},
		First: []string{"auto_explain.log_analyze"}, Named: []string{"auto_explain"}},
	{Name: "pg logs each statement", Kind: "postgres", Always: setup{Clients: 2, Script: read}, With: setup{Settings: "log_statement=all log_duration=on"},
		First: []string{"log_statement", "log_duration"}, Named: []string{"log_statement"}},
	{Name: "pg dead rows", Kind: "postgres", Always: setup{Clients: 2, Script: "select count(*) from b"},
		With:    setup{Init: "create table b as select i, repeat($$x$$, 500) t from generate_series(1, 100000) i; delete from b where i % 100 > 0"},
		Without: setup{Init: "create table b as select i, repeat($$x$$, 500) t from generate_series(1, 1000) i"}, First: []string{"dead rows"}, Named: []string{"vacuum"}},
	{Name: "pgbouncer keeps slots for idle clients", Kind: "pgbouncer", Always: setup{Clients: 8, Script: read, Think: 20, Settings: "pool_size=4"},
		With: setup{Settings: "pool_mode=session"}, First: []string{"pool_size"}, Named: []string{"pool_mode"}},
	{Name: "maria few open tables", Kind: "mariadb", Always: setup{Clients: 4, Init: numbered("create table t%d (id int primary key, n int)", 100),
		Script: numbered("select n from t%d where id = 1", 100)}, With: setup{Settings: "table_open_cache=10"}, First: []string{"table_open_cache"}, Named: []string{"table_open_cache"}},
	{Name: "maria general log", Kind: "mariadb", Always: setup{Clients: 4, Script: point}, With: setup{Settings: "general_log=1 log_output=TABLE"},
		First: []string{"general_log", "~general_log"}, Named: []string{"general_log"}},
	{Name: "process and a thread that keeps its interpreter", Kind: "process", With: setup{Script: "interpreter 1"}, Without: setup{Script: "interpreter 0"},
		First: []string{"one interpreter"}, Named: []string{"GIL", `thread \d+`}},
	{Name: "process of writes through to a slow log", Kind: "process", Always: setup{Script: "through $LOG/file"}, With: setup{Sync: 5},
		First: slowLog, Named: []string{"log device"}},
	{Name: "process and a full FIFO", Kind: "process", With: setup{Script: "pipe 0.002 $DIR/fifo"}, Without: setup{Script: "pipe 0 $DIR/fifo"},
		First: []string{"reader of a FIFO"}, Named: []string{"FIFO", "python3.*PID"}},
	{Name: "process that is large and forks", Kind: "process", With: setup{Script: "forks 512"}, Without: setup{Script: "forks 0"},
		First: []string{"work of the kernel"}, Named: []string{"begin and end processes"}},
	{Name: "process that gives its memory back", Kind: "process", With: setup{Script: "churns 1"}, Without: setup{Script: "churns 0"},
		First: []string{"work of the kernel"}, Named: []string{"give back memory"}},
}
