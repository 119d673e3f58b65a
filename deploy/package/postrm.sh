#!/bin/sh
# After a removal. The journal of settings in /var/lib/hostlab stays: it alone knows what there was.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload >/dev/null 2>&1 || true
fi
if [ "$1" = purge ]; then
	rm -rf /var/log/hostlab /var/log/private/hostlab /var/lib/hostlab-assess
	rm -f /etc/hostlab/fleet.token
	rmdir /etc/hostlab 2>/dev/null || true
fi
