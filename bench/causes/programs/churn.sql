update pgbench_tellers set tbalance = tbalance + 1;
update pgbench_accounts set abalance = abalance + 1 where aid % 500 = 7;
\sleep 1 s
