//go:build linux

package main

import "strings"

// Scripts of clients that talk much, and of such that lock rows in different orders.
var (
	talks     = "begin\n" + strings.Repeat("select 1\n\\sleep 2 ms\n", 6) + "end"
	crossways = `\set first random(1, 2)` + "\nbegin\nupdate pgbench_branches set bbalance = 1 where bid = :first\n\\sleep 1 ms\n" +
		"update pgbench_branches set bbalance = 1 where bid = 3 - :first\nend"
)

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
	{Name: "process and a full FIFO", Kind: "process", With: setup{Script: "pipe 0.002 $DIR/fifo"}, Without: setup{Script: "pipe 0 $DIR/fifo"},
		First: []string{"reader of a FIFO"}, Named: []string{"FIFO", "python3.*PID"}},
	{Name: "process that is large and forks", Kind: "process", With: setup{Script: "forks 512"}, Without: setup{Script: "forks 0"},
		First: []string{"work of the kernel"}, Named: []string{"begin and end processes"}},
	{Name: "process that gives its memory back", Kind: "process", With: setup{Script: "churns 1"}, Without: setup{Script: "churns 0"},
		First: []string{"work of the kernel"}, Named: []string{"give back memory"}},
}
