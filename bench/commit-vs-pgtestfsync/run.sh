#!/usr/bin/env bash
# Compares hostlab's rate of commits with pg_test_fsync's on the same directory.
#   run.sh [DIRECTORY [ROUNDS]]
set -euo pipefail
cd "$(dirname "$0")/../.."
found=$(command -v pg_test_fsync || ls -d /usr/lib/postgresql/*/bin/pg_test_fsync 2>/dev/null | sort -V | tail -n1)
if [[ -z $found ]]; then
    echo "commit-vs-pgtestfsync: pg_test_fsync is not installed: apt-get install postgresql" >&2
    exit 2
fi
exec go run ./bench/commit-vs-pgtestfsync -dir "${1:-.}" -rounds "${2:-15}" -program "$found"
