#!/bin/bash
# settings.sh [TEST]: all that the tests of this directory try in guests, and not only the part that `make lab` has
# time for: every value of every setting on eight machines, 100 SIGKILLs, 36 power cuts, 20 more in live experiments,
# 20 killed studies. More than an hour on two idle cores. Prints the table of the settings at the end. TEST: one of them,
# such as TestPowerCuts.
set -euo pipefail; cd "$(dirname "$0")"
./setup.sh
log=$(mktemp); trap 'rm -f "$log"' EXIT
rc=0; go test -tags=system . ./windows -count=1 -timeout 180m -v -full -run "${1:-.}" | tee "$log" || rc=$?
echo; echo "| setting | files | before | set | read back | independent of the files | verify | revert |"; echo "|---|---|---|---|---|---|---|---|"
sed -n 's/^ *settings_test.go:[0-9]*: \(| .*\)/\1/p' "$log"
exit $rc
