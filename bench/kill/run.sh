#!/bin/sh
# Kills experiments with SIGKILL at 200 random moments (or as many as are asked
# for), resumes them, and prints what was lost: see TestKill. Its status is that of
# the test.
#
#   bench/kill/run.sh [KILLS]
set -eu
cd "$(dirname "$0")/../.."
status=0
out=$(KILLS=${1:-200} go test -count=1 -timeout 30m -run '^TestKill$' -v ./internal/experiment/runner 2>&1) || status=$?
if [ "$status" -eq 0 ]; then
	printf '%s\n' "$out" | sed -n '/kills in/s/^.*go:[0-9]*: //p'
else
	printf '%s\n' "$out" >&2
fi
exit "$status"
