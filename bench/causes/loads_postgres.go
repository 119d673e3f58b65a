//go:build linux

package main

import "slices"

// loads are all, those with a cause before those without any. A load is an entry in one of these lists and nothing
// else.
func loads() []load {
	return slices.Concat(ofPostgres, ofMariaDB, ofPoolers, ofServers, ofInner, ofOuter, ofMet, ofProcesses, ofKernel, withoutCause)
}

// What is said of causes that are alike.
var (
	neighbour = []string{"neighbour"}
	quota     = []string{"quota"}
	affinity  = []string{"affinity", "cpus", "~affinity"}
	bound     = []string{`affinity|taskset|cpuset|CPU 0\b|may use 1 of`}
	slowLog   = []string{"log"}
	limited   = []string{"limit on a device"}
	oneLoop   = []string{"nightly"}
	twoLoops  = []string{"nightly", "nightly"}
	nightly   = []string{"nightly"}
)

// Scripts of pgbench.
const (
	tpcb   = "@tpcb-like"
	read   = "@select-only"
	row    = "begin\nupdate pgbench_branches set bbalance = bbalance + 1 where bid = 1\nend"
	own    = "begin\nupdate pgbench_accounts set abalance = abalance + 1 where aid = 1 + 1000 * :client_id\nend"
	hold   = "begin\nupdate pgbench_branches set bbalance = bbalance + 1 where bid = 1\n"
	scan   = "select count(*), sum(abalance) from pgbench_accounts"
	anyRow = `\set any random(1, 1500000)` + "\nselect abalance from pgbench_accounts where aid = :any"
)

var ofPostgres = []load{
	{Name: "pg select beside two loops", Kind: "postgres", Always: setup{Script: read, Clients: 2}, With: setup{Beside: twoLoops},
		First: neighbour, Named: nightly},
	{Name: "pg tpcb beside one loop", Kind: "postgres", Always: setup{Script: tpcb, Clients: 4}, With: setup{Beside: oneLoop},
		First: neighbour, Named: nightly},
	{Name: "pg scan beside a heavy group", Kind: "postgres", Always: setup{Script: scan, Clients: 1},
		With: setup{Beside: twoLoops, Apart: true}, First: neighbour, Named: nightly},
	{Name: "pg select beside a script", Kind: "postgres", Always: setup{Script: read, Clients: 2},
		With:  setup{Beside: []string{"/usr/bin/python3 $BIN/report.py", "/usr/bin/python3 $BIN/report.py"}},
		First: neighbour, Named: []string{`report\.py|{beside}`}},
	{Name: "pg one row beside two loops", Kind: "postgres", Always: setup{Script: row, Clients: 20}, With: setup{Beside: twoLoops},
		First: neighbour, Named: []string{"nightly", `\block`}},
	{Name: "pg clients starve", Kind: "postgres", Always: setup{Script: tpcb, Clients: 2, Pin: "1"},
		With: setup{Beside: []string{"taskset -c 1 nightly", "taskset -c 1 nightly"}}, First: neighbour, Named: nightly},
	{Name: "pg parallel beside two loops", Kind: "postgres", Always: setup{Script: scan, Clients: 1,
		Settings: "max_parallel_workers_per_gather=2 min_parallel_table_scan_size=0 parallel_setup_cost=0 parallel_tuple_cost=0"},
		With: setup{Beside: twoLoops}, First: neighbour, Named: nightly},
	{Name: "pg quota", Kind: "postgres", Always: setup{Script: read, Clients: 4}, With: setup{Quota: 0.4},
		First: quota, Named: []string{"quota"}},
	{Name: "pg quota beside a loop", Kind: "postgres", Always: setup{Script: tpcb, Clients: 4, Beside: oneLoop},
		With: setup{Quota: 0.3}, First: quota, Named: []string{"quota"}},
	{Name: "pg one row and quota", Kind: "postgres", Always: setup{Script: row, Clients: 10}, With: setup{Quota: 0.3},
		First: quota, Named: []string{"quota", `\block`}},
	{Name: "pg affinity", Kind: "postgres", Always: setup{Script: scan, Clients: 2}, With: setup{CPUs: "0"},
		First: affinity, Named: bound},
	{Name: "pg many clients", Kind: "postgres", Always: setup{Script: scan}, With: setup{Clients: 8},
		Without: setup{Clients: 2}, First: []string{"cpus"}, Named: []string{"more than 2 CPUs|fewer clients"}, Other: "fewer clients"},
	{Name: "pg slow log", Kind: "postgres", Always: setup{Script: tpcb, Clients: 4}, With: setup{Sync: 5},
		First: slowLog, Named: []string{"log device|pg_wal"}},
	{Name: "pg group commit", Kind: "postgres", Always: setup{Script: own, Clients: 16}, With: setup{Sync: 2},
		First: slowLog, Named: []string{"log device|pg_wal"}},
	{Name: "pg one row and slow log", Kind: "postgres", Always: setup{Script: row, Clients: 8}, With: setup{Sync: 2},
		First: slowLog, Named: []string{"log device|pg_wal", `\block`}},
	{Name: "pg synchronous_commit", Kind: "postgres", Always: setup{Script: own, Clients: 2, Disk: true},
		Without: setup{Settings: "synchronous_commit=off"}, First: []string{"log", "~synchronous_commit"},
		Named: []string{"log device|synchronous_commit"}},
	{Name: "pg commit_delay", Kind: "postgres", Always: setup{Script: own, Clients: 1},
		With:  setup{Settings: "commit_delay=5000 commit_siblings=0"},
		First: []string{"~commit_delay"}, Named: []string{"commit_delay"}},
	{Name: "pg holder asleep", Kind: "postgres", Always: setup{Clients: 8},
		With: setup{Script: hold + "select pg_sleep(0.01)\nend"}, Without: setup{Script: hold + "end"},
		Part: "lock", First: []string{"transactions that hold locks", `~\block.*(sleep|asleep|pg_sleep)`}, Named: []string{`pgbench_branches|row \block|\blocks`, "sleep"}},
	{Name: "pg holder waits for its client", Kind: "postgres", Always: setup{Clients: 8},
		With: setup{Script: hold + "\\sleep 10 ms\nend"}, Without: setup{Script: hold + "end"},
		Part: "lock", First: []string{"idle_in_transaction_session_timeout", "transactions that hold locks", `~\block.*(client|application|idle in transaction)`}, Named: []string{`\blocks`, "pgbench"}},
	{Name: "pg idle in transaction", Kind: "postgres", Always: setup{Script: tpcb, Clients: 2},
		With: setup{Beside: []string{`env PGAPPNAME=backfill sh -c 'while :; do echo "begin; lock table pgbench_branches;"; ` +
			`sleep 0.5; echo "commit;"; sleep 0.1; done | psql -q'`}},
		Part: "lock", First: []string{"transactions that hold locks", "~idle_in_transaction", `~\block.*(client|application|idle in transaction|backfill)`}, Named: []string{"backfill|psql|{beside}"}},
	{Name: "pg session that holds a row", Kind: "postgres", Always: setup{Script: row, Clients: 4},
		With: setup{Beside: []string{`env PGAPPNAME=backfill sh -c 'while :; do echo "begin; update pgbench_branches set bbalance = 1; ` +
			`select sum(abalance) from pgbench_accounts; select sum(abalance) from pgbench_accounts; commit;"; sleep 0.1; done | psql -q'`}},
		Part: "lock", First: []string{"session that holds locks"}, Named: []string{"backfill"}},
	{Name: "pg many idle", Kind: "postgres", Always: setup{Clients: 3, Beside: []string{
		`pgbench -n -c 300 -j 1 -T 3600 -f $BIN/idle.sql`}},
		With: setup{Script: hold + "\\sleep 5 ms\nend"}, Without: setup{Script: hold + "end"},
		Part: "lock", First: []string{"idle_in_transaction_session_timeout", "transactions that hold locks", `~\block.*(client|application|idle in transaction)`}, Named: []string{`\blocks`}},
	{Name: "pg max_wal_size", Kind: "postgres", Always: setup{Script: `\set any random(1, 2000000)` +
		"\nupdate pgbench_accounts set abalance = abalance + 1 where aid = :any", Clients: 4, Disk: true,
		Settings: "scale=20 shared_buffers=512MB synchronous_commit=off"},
		With: setup{Settings: "max_wal_size=32MB min_wal_size=32MB"}, First: []string{"~max_wal_size"}, Named: []string{"max_wal_size"}},
	{Name: "pg connections", Kind: "postgres", Always: setup{Script: read, Clients: 2}, With: setup{Anew: true},
		First: []string{"~connection"}, Named: []string{"connections|pool"}},
	// A subplan that does not fit is read again from a temporary file for each row.
	{Name: "pg work_mem", Kind: "postgres", Always: setup{Clients: 1, Script: "select count(*) from pgbench_accounts where aid <= 20 " +
		"and aid not in (select aid from pgbench_accounts where aid between 200000 and 400000)"},
		With: setup{Settings: "work_mem=64kB"}, Without: setup{Settings: "work_mem=64MB"}, First: []string{"~work_mem"}, Named: []string{"work_mem"}},
	{Name: "pg shared_buffers", Kind: "postgres", Always: setup{Clients: 2, Disk: true, Script: "select sum(abalance) from pgbench_accounts " +
		"where aid in (select (random() * 499999)::int + 1 from generate_series(1, 2000))"},
		With: setup{Settings: "shared_buffers=1MB"}, Without: setup{Settings: "shared_buffers=512MB"},
		First: []string{"~shared_buffers"}, Named: []string{"shared_buffers"}},
	{Name: "pg cold reads", Kind: "postgres", Always: setup{Clients: 4, Disk: true, Script: anyRow},
		With:    setup{Cold: true, Settings: "shared_buffers=1MB"},
		Without: setup{Settings: "scale=15 shared_buffers=512MB"}, First: []string{"data", "~shared_buffers"},
		Named: []string{"data device|data disks|shared_buffers"}},
	{Name: "pg slow disk", Kind: "postgres", Always: setup{Clients: 2, Disk: true, Script: anyRow, Cold: true, Settings: "shared_buffers=1MB"},
		With: setup{IOPS: 200}, First: limited, Named: []string{"200 reads"}},
	{Name: "pg memory limit", Kind: "postgres", Always: setup{Clients: 2, Disk: true, Script: anyRow, Settings: "scale=15 shared_buffers=4MB maintenance_work_mem=8MB"},
		With: setup{Memory: 64}, First: []string{"memory"}, Named: []string{"memory"}},
	{Name: "pg autovacuum", Kind: "postgres", Always: setup{Clients: 2, Script: read, Settings: "scale=40 shared_buffers=16MB",
		Beside: []string{"pgbench -n -c 1 -T 3600 -f $BIN/churn.sql"}},
		With: setup{Settings: "autovacuum=on autovacuum_naptime=1 autovacuum_vacuum_cost_delay=0 autovacuum_vacuum_threshold=1 " +
			"autovacuum_vacuum_scale_factor=0 autovacuum_analyze_threshold=1 autovacuum_analyze_scale_factor=0"},
		First: []string{"~autovacuum"}, Named: []string{"autovacuum"}},
	{Name: "pg one statement", Kind: "postgres", Always: setup{Clients: 1, Settings: "compute_query_id=on", Script: `\set any random(1, 100000)` +
		"\nselect count(*) from pgbench_accounts where bid = 3 and abalance = :any\nselect abalance from pgbench_accounts where aid = :any"},
		Without: setup{Init: "create index on pgbench_accounts (abalance, bid)"},
		First:   []string{"~statement|query"}, Named: []string{`statement|query id|query -?\d+`}},
}
