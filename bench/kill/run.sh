#!/bin/sh
# Kills experiments with SIGKILL at 200 random moments (or as many as are asked
# for), resumes them, and prints what was lost: see TestKill.
#
#   bench/kill/run.sh [KILLS]
set -eu
cd "$(dirname "$0")/../.."
KILLS=${1:-200} go test -count=1 -timeout 30m -run '^TestKill$' -v ./internal/experiment/runner |
	sed -n '/kills in/s/^.*go:[0-9]*: //p; /^--- FAIL/p; /^FAIL/p; /_test.go.*: /p' | sort -u
