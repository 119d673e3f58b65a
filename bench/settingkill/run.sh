#!/bin/sh
# Ends processes that change settings with SIGKILL, at every system call in turn, 1,000
# times (or as many as are asked for), puts back what they have left, and prints what
# was lost: see TestKill. Its status is that of the test.
#
#   bench/settingkill/run.sh [KILLS]
set -eu
cd "$(dirname "$0")/../.."
status=0
out=$(KILLS=${1:-1000} go test -tags=system -count=1 -timeout 30m -run '^TestKill$' -v ./internal/setting 2>&1) || status=$?
if [ "$status" -eq 0 ]; then
	printf '%s\n' "$out" | sed -n '/kills in turn/s/^.*go:[0-9]*: //p'
else
	printf '%s\n' "$out" >&2
fi
exit "$status"
