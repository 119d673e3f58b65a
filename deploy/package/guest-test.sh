#!/bin/sh
# Runs in a guest whose systemd is running (packages-test.sh): the package's units are begun, work, and end with the package.
set -ex
for unit in hostlab-send.service; do systemctl cat $unit >/dev/null 2>&1 && exit 1; done # it is a machine without hostlab
dpkg -i ./hostlab.deb
for unit in hostlab-watch.service hostlab-assess.timer hostlab-send.timer hostlab-restore.service hostlab-day@postgresql.timer; do
	[ "$(systemctl is-enabled $unit)" = disabled ]
done
systemctl enable --now hostlab-watch.service hostlab-assess.timer hostlab-restore.service hostlab-day@postgresql.timer
systemctl is-active hostlab-assess.timer
systemctl list-timers hostlab-assess.timer | grep hostlab-assess.service
systemctl list-timers hostlab-day@postgresql.timer | grep hostlab-day@postgresql.service

# The daily assessment, shortened; the role comes from the file.
echo 'role = "production-app"' >> /etc/hostlab/config.toml
mkdir -p /run/systemd/system/hostlab-assess.service.d
printf '[Service]\nExecStart=\nExecStart=%s\n' "$(sed -n 's/^ExecStart=\(.* assess\)/\1 --quick/p' /lib/systemd/system/hostlab-assess.service)" > /run/systemd/system/hostlab-assess.service.d/quick.conf
systemctl daemon-reload
systemctl start hostlab-assess.service
grep '"role": *"production-app"' /var/lib/hostlab-assess/latest.json >/dev/null
# Its sandbox hides nothing that it looks for.
if grep '"state": *"denied"' /var/lib/hostlab-assess/latest.json; then exit 1; fi
[ -s /var/lib/hostlab-assess/latest.html ] && [ -s /var/lib/hostlab-assess/verify.json ]

# Nothing was left by a live experiment: the unit that restores one begins nothing, and does not fail.
[ "$(systemctl show -P ConditionResult hostlab-restore)" = no ]
if systemctl is-failed hostlab-restore; then exit 1; fi

# The recording runs as a user of its own, with little that it could harm. An analysis takes two samples, after the record's head.
systemctl is-active hostlab-watch
timeout 60 sh -c 'until [ "$(wc -l < /var/log/hostlab/watch.jsonl)" -ge 3 ]; do sleep 1; done'
[ "$(stat -c %U /proc/"$(systemctl show -P MainPID hostlab-watch)")" != root ]
hostlab watch --from /var/log/hostlab/watch.jsonl >/dev/null
systemd-analyze security --no-pager --threshold=40 hostlab-watch.service >/dev/null
systemd-analyze security --no-pager hostlab-watch.service | tail -n 1
dpkg -r hostlab
for unit in hostlab-watch.service hostlab-assess.timer hostlab-day@postgresql.timer; do
	if systemctl is-active $unit; then exit 1; fi
done
