#!/bin/sh
# Runs in a guest whose systemd is running (packages-test.sh), twice on the same disk: "cut" begins a live experiment on its
# PostgreSQL, and resets the machine while the file of ALTER SYSTEM has the level; "back" finds what the unit has done at the boot.
set -ex
export HOME=/root
postgres() { runuser -u postgres -- "$@"; }
now() { postgres psql -Atc 'show commit_delay'; }
file=$(postgres psql -Atc 'show data_directory')/postgresql.auto.conf
case "$1" in
cut)
	dpkg -i ./hostlab.deb
	systemctl enable hostlab-restore.service
	[ "$(now)" = 0 ]
	cat > live.toml <<'END'
[study]
name = "cut"
title = "commit_delay of the PostgreSQL that runs here, until the plug is pulled"
[design]
looks = [6]
[[factor]]
name = "parameter"
server = "commit_delay"
levels = ["current", "2000"]
settle = "300ms"
[workload]
name = "observe"
service = "postgres"
for = "2s"
short = "0s"
every = "1s"
retries = 9
[harm]
every = "1s"
above = 10
limit = {elapsed_per_transaction = "100s"}
[[response]]
name = "elapsed_per_transaction"
primary = true
END
	postgres sh -c 'while :; do echo "select pg_sleep(0.02); begin; create temp table t(); rollback; select txid_current();"; done | psql -Atq >/dev/null' &
	# The file keeps the level until each busy session begins a statement: this one takes its time, so that the cut hits.
	postgres sh -c 'while :; do echo "select pg_sleep(8);"; done | psql -Atq >/dev/null' &
	hostlab run live.toml --yes --out /var/lib/cut &
	set +x
	until grep -q 'commit_delay.*2000' "$file" && sleep 0.3 && grep -q 'commit_delay.*2000' "$file"; do
		kill -0 $! || exit 1
	done
	echo rc=0 > /dev/virtio-ports/rc # what guest-run.sh waits for; nothing after this is seen
	echo b > /proc/sysrq-trigger     # no process ends, and no file system is written
	sleep 60
	;;
back)
	[ "$(systemctl show -P ConditionResult hostlab-restore)" = yes ]
	[ "$(systemctl show -P Result hostlab-restore)" = success ]
	journalctl -b --no-pager -o cat -u hostlab-restore
	journalctl -b --no-pager -o cat -u hostlab-restore | grep 'put back'
	if grep commit_delay "$file"; then exit 1; fi
	[ "$(now)" = 0 ]
	hostlab verify
	;;
esac
