//go:build linux

package main

// What runs beside a database, as its clients would: statements that a shell sends again and again.
const (
	mariadb = "mariadb --skip-ssl -n -S $SOCKET -u hostlab hostlab"
	forever = "while :; do "
)

// ofInner are causes in what a server itself does.
var ofInner = []load{
	{Name: "pg old snapshot", Kind: "postgres", Always: setup{Clients: 2, Init: "create table hot (id int primary key, n int) with (fillfactor = 50);\n" +
		"insert into hot select i, 0 from generate_series(1, 20) i", Script: "update hot set n = n + 1 where id = 1 + :client_id"},
		With:  setup{Beside: []string{`env PGAPPNAME=export sh -c '(echo "begin isolation level repeatable read; select 1;"; sleep 3600) | psql -q'`}},
		First: []string{"~snapshot|old(est)? transaction|dead rows"}, Named: []string{"export|{beside}"}},
	{Name: "pg prepared transaction", Kind: "postgres", Always: setup{Script: row, Clients: 2, Settings: "max_prepared_transactions=4"},
		With: setup{Beside: []string{`sh -c '` + forever + `echo "begin; update pgbench_branches set bbalance = 1; prepare transaction \$\$x\$\$;"; sleep 0.5; ` +
			`echo "commit prepared \$\$x\$\$;"; sleep 0.1; done | psql -q'`}},
		Part: "lock", First: []string{"transactions that hold locks", "~prepared transaction"}, Named: []string{"prepared transaction"}},
	{Name: "pg behind an alter", Kind: "postgres", Always: setup{Script: read, Clients: 4},
		With: setup{Beside: []string{`env PGAPPNAME=report sh -c '` + forever + `echo "begin; select 1 from pgbench_accounts limit 1;"; sleep 0.6; echo "commit;"; sleep 0.1; done | psql -q'`,
			`sh -c '` + forever + `echo "begin; lock table pgbench_accounts; commit;"; sleep 0.2; done | psql -q'`}},
		Part: "lock", First: []string{"transactions that hold locks", "idle_in_transaction_session_timeout", `~\block`}, Named: []string{"report"}},
	{Name: "pg advisory lock", Kind: "postgres", Always: setup{Clients: 6},
		With: setup{Script: "begin\nselect pg_advisory_xact_lock(1)\nselect pg_sleep(0.005)\nend"}, Without: setup{Script: "begin\nselect pg_sleep(0.005)\nend"},
		Part: "lock", First: []string{"transactions that hold locks", `~\block.*(sleep|slept)`}, Named: []string{`\block`, "sleep"}},
	{Name: "pg notify", Kind: "postgres", Always: setup{Clients: 8, Sync: 2}, With: setup{Script: "begin\nnotify news\n" + own[6:]},
		Without: setup{Script: own}, Part: "lock", First: []string{"log", "~notify"}, Named: []string{`\block`}},
	{Name: "pg sleeps", Kind: "postgres", Always: setup{Clients: 4}, With: setup{Script: "select pg_sleep(0.01)"}, Without: setup{Script: "select 1"},
		Part: "other", First: []string{"~sleep"}, Named: []string{"sleep"}},
	{Name: "pg jit", Kind: "postgres", Always: setup{Clients: 2, Script: "select sum(abalance + 1), count(*) from pgbench_accounts where aid between 1 and 500"},
		With: setup{Settings: "jit=on jit_above_cost=0 jit_inline_above_cost=0 jit_optimize_above_cost=0"}, Without: setup{Settings: "jit=off"},
		First: []string{`~\bjit`}, Named: []string{`\bjit`}},
	{Name: "pg slow standby", Kind: "postgres", Always: setup{Clients: 4, Script: own, Settings: "wal_level=replica max_wal_senders=4"},
		With: setup{Beside: []string{`sh -c 'mkdir copies; pg_receivewal --synchronous -D copies & ` +
			`psql -c "alter system set synchronous_standby_names = \$\$*\$\$" -c "select pg_reload_conf()"; ` + forever + `sleep 0.2; kill -STOP $!; sleep 0.2; kill -CONT $!; done'`}},
		First: []string{"synchronous_commit", "~standby"}, Named: []string{"standby"}},
	{Name: "maria behind an alter", Kind: "mariadb", Always: setup{Script: point, Clients: 4},
		With: setup{Beside: []string{`sh -c '` + forever + `echo "begin; select n from t where id = 5; "; sleep 0.6; echo "commit;"; sleep 0.1; done | ` + mariadb + `'`,
			`sh -c '` + forever + `echo "lock table t write; unlock tables;"; sleep 0.2; done | ` + mariadb + `'`}},
		Part: "lock", First: []string{"transactions that hold locks", "idle_transaction_timeout", `~\block`}, Named: []string{`session \d+ of user|mariadb|{beside}`}},
	{Name: "maria binary log", Kind: "mariadb", Always: setup{Script: change, Clients: 2, Disk: true,
		Settings: "log_bin=bin innodb_flush_log_at_trx_commit=2"}, With: setup{Settings: "sync_binlog=1"}, Without: setup{Settings: "sync_binlog=0"},
		First: []string{"log", "~sync_binlog"}, Named: []string{"log device|sync_binlog"}},
	{Name: "maria backup", Kind: "mariadb", Always: setup{Script: change, Clients: 3},
		With: setup{Beside: []string{`sh -c '` + forever + `echo "flush tables with read lock; do sleep(0.5); unlock tables;"; sleep 0.8; done | ` + mariadb + `'`}},
		Part: "lock", First: []string{`~\block`}, Named: []string{`session \d+ of user|mariadb|{beside}`}},
	{Name: "redis connections", Kind: "redis", Always: setup{Script: "GET k:any", Clients: 2}, With: setup{Anew: true}, First: []string{"~connection"}, Named: []string{"connect"}},
	{Name: "nginx connections", Kind: "nginx", Always: setup{Script: "/1", Clients: 2}, With: setup{Anew: true}, First: []string{"~connection"}, Named: []string{"connect"}},
	{Name: "nginx compresses", Kind: "nginx", Always: setup{Script: "/1", Clients: 4, Disk: true, Settings: "gzip=9"}, With: setup{Settings: "worker_processes=1"},
		Without: setup{Settings: "worker_processes=2"}, First: []string{"threads at work", "cpus", "~worker"}, Named: []string{`nginx \(thread \d+|CPU`}},
	{Name: "python one worker", Kind: "python", Always: setup{Clients: 6, Script: "/sleep/5", Anew: true}, With: setup{Settings: "workers=1"},
		First: []string{"threads that take requests"}, Named: []string{`threads|workers`}},
	{Name: "jvm idle pool", Kind: "jvm", Always: setup{Script: "/compute/1000000", Clients: 2, Settings: "-Dpool=64"}, With: setup{Quota: 0.4},
		First: quota, Named: []string{"quota"}},
}

// ofKernel are causes in what the kernel does with a service, or another process by it.
var ofKernel = []load{
	{Name: "process in a cpuset", Kind: "process", Always: setup{Script: "cpu 2"}, With: setup{Set: "0"}, First: affinity, Named: []string{"cpuset"}},
	{Name: "process that is frozen", Kind: "process", Always: setup{Script: "cpu"}, With: setup{Frozen: 100}, First: []string{"stopped threads"}, Named: []string{"freez|frozen"}},
	{Name: "pg that is frozen", Kind: "postgres", Always: setup{Script: read, Clients: 2}, With: setup{Frozen: 100}, First: []string{"stopped threads"}, Named: []string{"freez|frozen"}},
	{Name: "process of little weight", Kind: "process", Always: setup{Script: "cpu", Beside: twoLoops}, With: setup{Shares: 64}, Without: setup{Shares: 1024 * 64},
		First: neighbour, Named: nightly},
	{Name: "process of low priority", Kind: "process", Always: setup{Script: "cpu"},
		With:  setup{Beside: []string{"sh -c 'renice -n 15 -p $SERVICE; exec nightly'", "nightly"}},
		First: neighbour, Named: nightly},
	{Name: "process beside a real-time loop", Kind: "process", Always: setup{Script: "cpu", CPUs: "0"}, With: setup{Beside: []string{"taskset -c 0 chrt -f 10 $BIN/nightly"}},
		First: neighbour, Named: nightly},
	{Name: "process that is traced", Kind: "process", Always: setup{Script: "syscalls"}, With: setup{Beside: []string{"strace -f -o /dev/null -p $SERVICE"}},
		First: []string{"stopped threads", "neighbour"}, Named: []string{"strace"}},
	{Name: "process and a full pipe", Kind: "process", With: setup{Script: "pipe 0.002"}, Without: setup{Script: "pipe 0"}, First: []string{"reader of a pipe"}, Named: []string{"pipe", "python3.*PID"}},
	{Name: "process that asks nobody", Kind: "process", With: setup{Script: "ask 0.02"}, Without: setup{Script: "ask 0"}, First: []string{`~^127\.0\.0\.1:`}, Named: []string{`127\.0\.0\.1:\d+`}},
	{Name: "process and a record's lock", Kind: "process", Always: setup{Script: "record $DIR/lock"},
		With: setup{Beside: []string{"/usr/bin/python3 $BIN/job.py record lock 0.02"}}, Part: "lock", First: []string{"lock of a file", `~\block`},
		Named: []string{"{beside}"}},
}
