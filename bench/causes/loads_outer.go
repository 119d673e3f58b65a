//go:build linux

package main

// archiver writes to the disk all the time.
var archiver = []string{`sh -c 'while :; do dd if=/dev/zero of=archive bs=1M count=200 conv=notrunc,fsync status=none; done'`}

// ofOuter are causes in what a service asks, sends to and shares with others.
var ofOuter = []load{
	{Name: "process that dials in vain", Kind: "process", With: setup{Script: "dial 0.05"}, Without: setup{Script: "dial 0"},
		First: []string{`~^127\.0\.0\.1:`}, Named: []string{`127\.0\.0\.1:\d+`}},
	{Name: "process and a slow log daemon", Kind: "process", With: setup{Script: "log 0.002"}, Without: setup{Script: "log 0"},
		First: []string{"~reader of a"}, Named: []string{`python3.*PID`}},
	{Name: "process and a slow client", Kind: "process", With: setup{Script: "send 0.005"}, Without: setup{Script: "send 0"},
		First: []string{"~reader of a"}, Named: []string{`python3.*PID`}},
	{Name: "process of threads that compute", Kind: "process", With: setup{Script: "spread 4 1"}, Without: setup{Script: "spread 1 2"},
		First: []string{"one interpreter"}, Named: []string{"GIL"}},
	{Name: "process and a writer on its disk", Kind: "process", Always: setup{Script: "sync $DIR/journal", Disk: true},
		With: setup{Beside: archiver}, First: []string{"another program on its disk"}, Named: []string{`\bdd\b`, "{beside}"}},
	{Name: "process that asks by sockets without a peer", Kind: "process", Always: setup{Script: "resolve"},
		With:    setup{Beside: []string{"/usr/bin/python3 $BIN/job.py answer 0.02"}},
		Without: setup{Beside: []string{"/usr/bin/python3 $BIN/job.py answer 0"}},
		First:   []string{"a server over UDP"}, Named: []string{"over UDP", "{beside}"}},
	{Name: "process and a child that sleeps", Kind: "process", With: setup{Script: "child 0.02"}, Without: setup{Script: "child 0"},
		First: []string{"programs that it starts"}, Named: []string{"for sleep, which sleeps"}},
	{Name: "pg and a writer on its disk", Kind: "postgres", Always: setup{Script: own, Clients: 4, Disk: true},
		With: setup{Beside: archiver}, First: []string{"another program on its disk"}, Named: []string{`\bdd\b`, "{beside}"}},
	{Name: "pg export beside", Kind: "postgres", Always: setup{Script: read, Clients: 2},
		With: setup{Beside: []string{`env PGAPPNAME=export sh -c 'while :; do pg_dump -a -t pgbench_accounts > /dev/null; done'`,
			`env PGAPPNAME=export sh -c 'while :; do pg_dump -a -t pgbench_accounts > /dev/null; done'`}},
		First: []string{"cpus", "~statement|pg_dump|session"}, Named: []string{"pg_dump|copy|export|statement"}},
	{Name: "pg session that computes", Kind: "postgres", Always: setup{Script: "select sum(i) from generate_series(1, 20000) i", Clients: 2},
		With:  setup{Beside: []string{`psql -qc 'do $$ declare i bigint := 0; begin loop i := i + 1; end loop; end $$'`}},
		First: []string{"sessions that compute"}, Named: []string{`session \d+ \(.*DO`}},
	{Name: "maria session that computes", Kind: "mariadb", Always: setup{Script: "select n from t where id = :any", Clients: 3},
		With:  setup{Beside: []string{`mariadb --skip-ssl -S $SOCKET -u hostlab hostlab -e 'select benchmark(1000000000000, md5(1))'`}},
		First: []string{"sessions that compute"}, Named: []string{`session \d+ \(`}},
	{Name: "nginx connects anew to the server behind it", Kind: "nginx", Always: setup{Clients: 4, Script: "/sleep/0", Settings: "behind=yes"},
		With: setup{Settings: "upstream=anew"}, First: []string{"~connection", `~^127\.0\.0\.1:`}, Named: []string{"connect", `python3.*PID`}},
	{Name: "python short queue", Kind: "python", Always: setup{Script: "/sleep/2", Clients: 24, Anew: true}, With: setup{Settings: "workers=2 backlog=1"},
		Without: setup{Settings: "workers=2 backlog=64"}, First: []string{"~backlog|queue of connections"}, Named: []string{"backlog|somaxconn"}},
	{Name: "haproxy lets few in", Kind: "haproxy", Always: setup{Script: "/sleep/5", Clients: 16}, With: setup{Settings: "maxconn=2"},
		First: []string{"requests within"}, Named: []string{"within haproxy"}},
	{Name: "redis saves", Kind: "redis", Always: setup{Script: "GET k:any", Clients: 4},
		With: setup{Beside: []string{`sh -c 'redis-cli -s redis.sock eval "for i = 1, 300000 do redis.call(\"set\", \"x\" .. i, 1) end" 0; ` +
			`while :; do redis-cli -s redis.sock save; sleep 0.1; done'`}},
		First: []string{"command SAVE", "command EVAL"}, Named: []string{"SAVE"}},
	{Name: "maria small log", Kind: "mariadb", Always: setup{Clients: 4, Disk: true, Script: "update t set n = n + 1, pad = repeat('y', 200) where id = :any",
		Settings: "innodb_flush_log_at_trx_commit=0"}, With: setup{Settings: "innodb_log_file_size=4M"}, Without: setup{Settings: "innodb_log_file_size=512M"},
		First: []string{"~innodb_log_file_size"}, Named: []string{"innodb_log_file_size"}},
	{Name: "maria dump", Kind: "mariadb", Always: setup{Script: change, Clients: 3},
		With: setup{Beside: []string{`sh -c 'while :; do mariadb-dump --skip-ssl -S $SOCKET -u hostlab --lock-all-tables hostlab > /dev/null; sleep 0.1; done'`}},
		Part: "lock", First: []string{`~\block`}, Named: []string{`session \d+ of user|mariadb-dump|{beside}`}},
}
