#!/bin/sh
# Experiments on a PostgreSQL in use, compressed in time: kills hostlab and the server at random moments, and
# looks for harm, effects and their absence. See TestLive... in internal/experiment/runner. Its status is that
# of the tests. A LIVE_DELAY of 2500 us about doubles the latency of commits.
#
#   bench/livekill/run.sh [KILLS [SERVERS [EXPERIMENTS]]]
set -eu
cd "$(dirname "$0")/../.."
status=0
out=$(LIVE_DELAY=2500 LIVE_PERIOD=10 LIVE_KILLS=${1:-100} LIVE_SERVERS=${2:-20} LIVE_HARMS=${3:-10} LIVE_EFFECTS=${3:-10} LIVE_AA=${3:-10} LIVE_PAIRS=14 \
	go test -tags=system,bench -count=1 -timeout 120m -run '^TestLive(Harm|Effect|Killed)$' -v ./internal/experiment/runner 2>&1) || status=$?
if [ "$status" -eq 0 ]; then
	printf '%s\n' "$out" | sed -n 's/^.*_test.go:[0-9]*: //p'
else
	printf '%s\n' "$out" >&2
fi
exit "$status"
