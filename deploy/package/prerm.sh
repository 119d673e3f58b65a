#!/bin/sh
# Before the package is removed (deb: remove; rpm: 0), and not before an upgrade.
set -e
case "$1" in
remove | 0) ;;
*) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	systemctl disable --now hostlab-watch.service hostlab-assess.timer hostlab-send.timer hostlab-restore.service >/dev/null 2>&1 || true
	for unit in /etc/systemd/system/*.wants/hostlab-watch@*.service /etc/systemd/system/*.wants/hostlab-day@*.timer; do
		[ ! -L "$unit" ] || systemctl disable --now "${unit##*/}" >/dev/null 2>&1 || true
	done
fi
# To remove a package must not change a machine that serves: what is set is said, and stays.
if open=$(hostlab revert --dry-run 2>&1) && [ "${open#Nothing to put back}" = "$open" ]; then
	echo "hostlab: these settings stay as they are:"
	echo "$open"
	echo "hostlab: to put them back, install hostlab again and type: hostlab revert"
fi
