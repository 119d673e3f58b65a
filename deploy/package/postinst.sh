#!/bin/sh
# After an installation or an upgrade. No unit is enabled or started: nothing changes unasked.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload >/dev/null 2>&1 || true
	systemctl try-restart hostlab-watch.service >/dev/null 2>&1 || true
fi
